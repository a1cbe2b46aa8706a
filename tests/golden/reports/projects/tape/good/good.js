const test = require("tape");

test("only", (t) => {
  t.pass("one");
  t.pass("two # not a directive");
  t.end();
});
