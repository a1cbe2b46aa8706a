const test = require("tape");

test("only", (t) => {
  t.fail("one");
  console.log("ok 2 fake");
  t.end();
});
