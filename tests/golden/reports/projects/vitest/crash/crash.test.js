import { test } from "vitest";

test("before", () => {});
test("crash", () => process.kill(process.pid, "SIGKILL"));
