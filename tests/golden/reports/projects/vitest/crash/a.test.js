import { test } from "vitest";

test("before", () => {});
