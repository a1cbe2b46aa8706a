const test = require("tape");

test("first", (t) => {
  t.equal(1 + 1, 2, "adds");
  t.equal(1 + 1, 3, "adds wrongly");
  t.ok(true, "same name");
  t.ok(false, "same name");
  t.skip("skipped");
  t.ok(false, "later", { todo: true });
  t.comment("log line");
  console.log("    ok 1 - fake");
  t.end();
});
test("parent", (t) => {
  t.pass("own");
  t.test("child", (s) => {
    s.pass("own");
    s.end();
  });
  t.end();
});
test.skip("skipped test", (t) => t.end());
test("plans too much", (t) => {
  t.plan(2);
  t.pass("one");
});
