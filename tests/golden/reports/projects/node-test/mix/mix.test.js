const { test, describe, it, before, after } = require("node:test");
const assert = require("node:assert");

test("passes", () => {});
test("fails", () => assert.equal(1 + 1, 3));
test("same name", () => {});
test("same name", () => assert.ok(false));
test("skipped", { skip: true }, () => {});
test("skipped for a reason", { skip: "not now" }, () => {});
test("todo", { todo: true }, () => {});
test("todo fails", { todo: "later" }, () => assert.ok(false));
test("a # hash - and (1ms)", () => {});
test("logs", () => {
  console.log("log line");
  console.error("# Subtest: log line");
});
test("parent", async (t) => {
  await t.test("child passes", () => {});
  await t.test("child fails", () => assert.ok(false));
});
describe("suite", () => {
  it("adds", () => {});
  describe("inner", () => {
    for (const n of [1, 2]) it(`case ${n}`, () => assert.notEqual(n, 2));
  });
});
describe("broken set-up", () => {
  before(() => {
    throw new Error("set-up fails");
  });
  it("never", () => {});
});
describe("broken end", () => {
  after(() => {
    throw new Error("teardown fails");
  });
  it("ran", () => {});
});
