def test_passes():
    print("log line without an end", end="")
