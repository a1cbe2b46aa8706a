it("before", () => {});
it("crash", () => process.exit(0));
it("after", () => {});
