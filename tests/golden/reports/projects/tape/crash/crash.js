const test = require("tape");

test("first", (t) => {
  t.pass("one");
  t.end();
});
test("crash", () => {
  process.removeAllListeners("exit");
  process.exit(0);
});
