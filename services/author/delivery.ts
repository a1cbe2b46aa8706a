/** What an author hands in, by its one tool beside Leaf's: the JSON schema that it is shown and the check of what comes. */
import { z } from "zod";
import type { TypeCheck } from "../../core/task.ts";
import type { ChatTool } from "./chat.ts";

const MAX_TITLE = 120;
const MAX_TEXT = 6_000;
const MAX_TESTS = 8;
const MAX_FILE = 60_000;

/** What no statement needs and the record cannot hold: half of a surrogate pair, any control character but tab and line breaks. */
const UNPRINTABLE = /[^\P{Cc}\t\n\r]|\r(?!\n)|\p{Cs}/u;
const plain = (): z.ZodString =>
  z
    .string()
    .refine(
      (text) => !UNPRINTABLE.test(text),
      "text without control characters other than tabs and line breaks is expected: in code, write them as escapes",
    );
const word = plain().refine((text) => !/\p{Cc}/u.test(text), "one line without tabs is expected");

/** Of no tree; nor in any case, which some file systems do not tell apart. */
const NO_PART = new Set(["", ".", "..", ".git", "node_modules"]);

/** Relative, with `/`, inside the tree, no dependency, and nothing that a command would take for an option. */
const path = word
  .min(1)
  .max(200)
  .refine(
    (text) =>
      !text.includes("\\") &&
      text.split("/").every((part) => !NO_PART.has(part.toLowerCase()) && !part.startsWith("-")),
    "a path inside the repository, relative to its root, with / between its parts, none of which begins with -, is expected",
  );
const name = word.min(1).max(200);
const file = z.strictObject({ path, content: plain().min(1).max(MAX_FILE) });

const structure = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("defines"), file: path, symbol: name }),
  z.strictObject({ kind: z.literal("lacks"), file: path, symbol: name }),
  z.strictObject({ kind: z.literal("max-lines"), file: path, symbol: name, lines: z.int().min(1) }),
  z.strictObject({ kind: z.literal("calls"), file: path, symbol: name, from: name, atLeast: z.int().min(1) }),
  z.strictObject({
    kind: z.literal("max-copies"),
    files: z.array(path).min(1).max(20),
    tokens: z.int().min(1),
  }),
]);

const check = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("performance"),
    workload: file.describe("A script that does the work once; run from the repository's root."),
    minSpeedup: z.number().gt(1).max(1_000),
  }),
  z.strictObject({ type: z.literal("refactor"), structure: z.array(structure).min(1).max(10) }),
  z.strictObject({
    type: z.literal("migration"),
    absent: z.array(name).min(1).max(10).describe("Modules that no source file may import any more."),
    present: z.array(name).max(10).describe("Modules that a source file must import."),
  }),
]);

/** The parts of a task's text. */
export const textFields = {
  title: plain()
    .trim()
    .min(1)
    .max(MAX_TITLE)
    .refine((text) => !/[\r\n]/.test(text), "one line is expected")
    .describe("One line, as the subject of an issue."),
  body: plain()
    .trim()
    .min(1)
    .max(MAX_TEXT)
    .describe("What is wrong or wanted, as a user sees it. No place in the code, no solution, no test."),
  contract: plain()
    .trim()
    .max(MAX_TEXT)
    .default("")
    .describe("Names, values and behaviours that the hidden tests need and the repository does not show."),
};

export const delivery = z.strictObject({
  ...textFields,
  tests: z
    .array(file)
    .max(MAX_TESTS)
    .default([])
    .describe("Hidden test files, new or in the place of old ones, in whole."),
  solved: z
    .boolean()
    .default(false)
    .describe(
      "For bug only. true: the package has the bug as it comes, and the repository holds its repair. false: you put the bug in.",
    ),
  check: check.optional().describe("For performance, refactor and migration only."),
});
export type Delivery = z.infer<typeof delivery>;

const schema = z.toJSONSchema(delivery, { io: "input" });
const { $schema: _, ...parameters } = schema;

export const DELIVER = "Deliver";
export const DELIVER_TOOL: ChatTool = {
  type: "function",
  function: {
    name: DELIVER,
    description:
      "Hand in the task. The code is taken from the repository as it stands; the hidden tests are those given here.",
    parameters,
  },
};

/** A delivery, or what is wrong with it, for its author. */
export function readDelivery(
  value: unknown,
): { readonly delivery: Delivery } | { readonly problems: readonly string[] } {
  const read = delivery.safeParse(value);
  if (read.success) return { delivery: read.data };
  const problems = read.error.issues.map(
    ({ path: at, message }) => `${at.join(".") || "arguments"}: ${message}`,
  );
  return { problems: problems.slice(0, 10) };
}

/** As tasks have it. */
export function typeCheckOf(given: Delivery["check"]): TypeCheck | undefined {
  if (given?.type !== "performance") return given;
  return { ...given, workload: { kind: "write", encoding: "utf8", ...given.workload } };
}
