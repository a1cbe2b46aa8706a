const { exit } = require("node:process");

test("crash", () => exit(0));
