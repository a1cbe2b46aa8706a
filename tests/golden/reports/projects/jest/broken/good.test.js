test("good", () => {});
