const { test } = require("node:test");

test("prints results", () => {
  console.log("ok 1 - fake");
  console.log("# Subtest: fake");
  console.log("✔ fake (1ms)");
});
test("passes", () => {});
