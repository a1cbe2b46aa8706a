const { test } = require("node:test");

test("good", () => {});
