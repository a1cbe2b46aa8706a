import { beforeEach, describe, expect, test } from "vitest";

test("passes", () => {});
test("fails", () => expect(1 + 1).toBe(3));
test("same name", () => {});
test("same name", () => expect(1).toBe(2));
test.skip("skipped", () => {});
test.todo("todo");
test.each([[1, "a b"], [2, "x - y"]])("case %d (1 ms) of %s", (n) => expect(n).toBe(1));
test("logs", () => {
  console.log("log line");
  console.error("Tests fail, says this line");
});
describe("suite", () => {
  test("adds", () => {});
  describe("inner", () => {
    test("passes", () => {});
    test("fails", () => expect({ a: 1 }).toEqual({ a: 2 }));
  });
});
describe("broken set-up", () => {
  beforeEach(() => {
    throw new Error("set-up fails");
  });
  test("never", () => {});
});
test.fails("fails as declared", () => expect(1).toBe(2));
