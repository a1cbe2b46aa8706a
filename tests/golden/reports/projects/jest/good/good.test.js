test("one", () => {});
describe("suite", () => test("two", () => {}));
