test("before", () => {});
