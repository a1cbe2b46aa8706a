import unittest


class Good(unittest.TestCase):
    def test_good(self):
        pass
