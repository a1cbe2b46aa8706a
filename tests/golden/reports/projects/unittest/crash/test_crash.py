import os
import unittest


class Crash(unittest.TestCase):
    def test_a_before(self):
        pass

    def test_b_crash(self):
        os._exit(0)

    def test_c_after(self):
        pass
