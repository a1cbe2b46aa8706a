const t = require("tap");

t.test("suite", (t) => {
  t.pass("before");
  process.kill(process.pid, "SIGKILL");
  t.end();
});
