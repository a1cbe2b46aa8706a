import { describe, test } from "vitest";

test("one", () => {});
describe("suite", () => test("two", () => {}));
