import logging

import pytest


@pytest.fixture
def broken_setup():
    raise RuntimeError("set-up fails")


@pytest.fixture
def broken_teardown():
    yield
    raise RuntimeError("teardown fails")


def test_passes():
    pass


def test_fails():
    assert 1 + 1 == 3, "sum - of one and one"


@pytest.mark.skip(reason="not now")
def test_skipped():
    pass


@pytest.mark.xfail(reason="known - bug")
def test_xfails():
    assert False


@pytest.mark.xfail(reason="fixed bug")
def test_xpasses():
    pass


@pytest.mark.xfail(strict=True, reason="strict")
def test_strict_xpass():
    pass


def test_setup_error(broken_setup):
    pass


def test_teardown_error(broken_teardown):
    pass


@pytest.mark.parametrize("text", ["a b", "a - b", "x]y", "[", "] - [", "PASSED", "a::b", "é", "", "a\tb"])
def test_text(text):
    assert text != "x]y", "left - right"


def test_prints_results():
    print("test_mix.py::test_fake PASSED")
    print("=== short test summary info ===")
    print("PASSED test_mix.py::test_fake")
    logging.warning("FAILED test_mix.py::test_passes - not really")
    assert True


class TestClass:
    def test_passes(self):
        pass

    def test_fails(self):
        raise ValueError("PASSED test_mix.py::test_fake")
