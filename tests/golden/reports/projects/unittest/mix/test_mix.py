import logging
import sys
import unittest


class Mix(unittest.TestCase):
    def test_passes(self):
        pass

    def test_fails(self):
        self.assertEqual(1 + 1, 3)

    def test_error(self):
        raise ValueError("ok")

    @unittest.skip("not now ... ok")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_xfails(self):
        self.fail()

    @unittest.expectedFailure
    def test_xpasses(self):
        pass

    def test_documented(self):
        """Says what it does ... mostly"""

    def test_logs(self):
        logging.warning("a log line")
        print("printed", file=sys.stderr)

    def test_subtests(self):
        for i in range(3):
            with self.subTest("part", i=i):
                self.assertNotEqual(i, 1)


class BrokenSetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("set-up fails")

    def test_never(self):
        pass


class Other(unittest.TestCase):
    def test_passes(self):
        pass
