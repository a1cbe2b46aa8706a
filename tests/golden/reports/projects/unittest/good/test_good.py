import unittest


class Good(unittest.TestCase):
    def test_one(self):
        pass

    def test_two(self):
        print("test_one (test_good.Good.test_one) ... FAIL")
