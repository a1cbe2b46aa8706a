const { test } = require("node:test");

test("before", () => {});
test("crash", () => process.exit(0));
test("after", () => {});
