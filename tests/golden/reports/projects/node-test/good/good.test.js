const { test, describe, it } = require("node:test");

test("one", () => {});
describe("suite", () => it("two", () => {}));
