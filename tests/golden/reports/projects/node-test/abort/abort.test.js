const { test } = require("node:test");

test("before", () => {});
test("abort", () => process.abort());
test("after", () => {});
