/** What is said of where a task comes from: forms that were made harder are not said to have been sent back. */
import { expect, it } from "vitest";
import { earlierFormsLine, originLines } from "../../core/origin.ts";

it("counts earlier forms by what they came to, and what was sent back by its author", () => {
  expect(earlierFormsLine([{ outcome: "valid" }])).toBe("1 earlier form: valid");
  expect(earlierFormsLine([{ outcome: "valid" }, { outcome: "leak" }])).toBe("2 earlier forms: valid, leak");
  const author = { model: "m", mode: "bug", prompt: "p", promptHash: "0".repeat(64), repairs: 2 } as const;
  expect(originLines({ facts: { sites: [], reproduction: null, origin: { author } } })).toEqual([
    "written by m as bug, prompt p (000000000000), sent back 2 ×",
  ]);
});
