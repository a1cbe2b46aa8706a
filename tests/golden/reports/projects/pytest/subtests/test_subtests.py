def test_many(subtests):
    for number in range(3):
        with subtests.test(msg="number", i=number):
            assert number != 1


def test_all_good(subtests):
    with subtests.test(msg="fine"):
        pass
