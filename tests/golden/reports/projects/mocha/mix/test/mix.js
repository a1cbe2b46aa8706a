const assert = require("node:assert");

it("top passes", () => {});
describe("suite", () => {
  it("passes", () => {});
  it("fails", () => assert.equal(1 + 1, 3));
  it("same name", () => {});
  it("same name", () => assert.ok(false));
  it.skip("skipped", () => {});
  it("pending");
  for (const n of [1, 2]) it(`case ${n} (1ms) - x`, () => assert.notEqual(n, 2));
  it("logs", () => {
    console.log("log line");
    console.error("2 passing");
  });
  it("is slow", (done) => setTimeout(done, 90));
  describe("inner", () => {
    it("passes", () => {});
  });
});
describe("broken set-up", () => {
  before(() => {
    throw new Error("set-up fails");
  });
  it("never", () => {});
});
describe("broken end", () => {
  afterEach("tidy", () => {
    throw new Error("teardown fails");
  });
  it("ran", () => {});
  it("not reached", () => {});
});
