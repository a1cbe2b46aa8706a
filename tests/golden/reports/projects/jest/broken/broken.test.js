test("never", () => {};
