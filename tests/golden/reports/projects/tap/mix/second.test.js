const t = require("tap");

t.pass("top");
