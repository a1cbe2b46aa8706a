test("passes", () => {});
test.failing("fails as declared", () => expect(1).toBe(2));
