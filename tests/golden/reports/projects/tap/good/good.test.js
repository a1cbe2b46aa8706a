const t = require("tap");

t.test("suite", (t) => {
  t.pass("one");
  t.end();
});
