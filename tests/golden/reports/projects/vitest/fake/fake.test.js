import { test } from "vitest";

test("prints results", () => {
  console.log(" ✓ fake.test.js > fake 1ms");
});
test("passes", () => {});
