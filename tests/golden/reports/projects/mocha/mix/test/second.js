describe("suite", () => {
  it("passes", () => {});
});
