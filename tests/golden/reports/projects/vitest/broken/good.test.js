import { test } from "vitest";

test("good", () => {});
