it("one", () => {});
describe("suite", () => it("two", () => {}));
