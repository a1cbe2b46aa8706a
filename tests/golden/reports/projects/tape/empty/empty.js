require("tape");
