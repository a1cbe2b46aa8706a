const t = require("tap");

t.pass("top");
t.test("suite", (t) => {
  t.equal(1 + 1, 2, "adds");
  t.equal(1 + 1, 3, "adds wrongly");
  t.test("inner", (t) => {
    t.pass("deep");
    t.pass("deep");
    t.end();
  });
  t.end();
});
t.test("skipped", { skip: "not now" }, (t) => t.end());
t.test("todo", { todo: true });
console.log("log line");
