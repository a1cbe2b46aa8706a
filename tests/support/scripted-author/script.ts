/** What a scripted author says next: a function of what was said so far, so that it can be asked again. */
import { createHash } from "node:crypto";
import type { Authored, Edit } from "../authored/index.ts";
import { file } from "../authored/types.ts";
import { PLAYS } from "./plays.ts";

export interface Call {
  readonly name: string;
  /** As text: an author may write what is no JSON. */
  readonly arguments: string;
}

export interface Said {
  readonly text: string;
  readonly calls: readonly Call[];
}

interface Message {
  readonly role: string;
  readonly content?: string | null;
}

const call = (name: string, args: object): Call => ({ name, arguments: JSON.stringify(args) });
const saying = (text: string, ...calls: Call[]): Said => ({ text, calls });

function fieldOf(messages: readonly Message[], name: string): string {
  const first = messages.find(({ role }) => role === "user")?.content ?? "";
  return new RegExp(`^${name}: (.+)$`, "m").exec(first)?.[1] ?? "";
}

/** `<file>: <function>` of each function that the author is told to leave alone. */
function keptOf(messages: readonly Message[]): ReadonlySet<string> {
  const first = messages.find(({ role }) => role === "user")?.content ?? "";
  const [, list = ""] = /must stay as they are:\n([\s\S]*?)\n\n/.exec(first) ?? [];
  return new Set(list.split("\n"));
}

/** Of those for the package and type that are asked for, one that leaves what must stay alone; undefined = it knows none. */
export function playFor(messages: readonly Message[]): Authored | undefined {
  const wanted = { environment: fieldOf(messages, "Package"), type: fieldOf(messages, "Task type") };
  const kept = keptOf(messages);
  const fitting = PLAYS.filter(
    ({ environment, type, site }) =>
      environment === wanted.environment &&
      type === wanted.type &&
      !kept.has(`${site.file}: ${site.functionName}`),
  );
  const first = messages.find(({ role }) => role === "user")?.content ?? "";
  const number = createHash("sha256").update(first).digest().readUInt32BE(0);
  return fitting[number % Math.max(1, fitting.length)];
}

/** What is done to the package: a bug is put in, or what is asked for is made. */
const edits = ({ base, gold }: Authored): readonly Edit[] => base ?? gold;

function testFiles({ tests = [] }: Authored): { path: string; content: string }[] {
  return tests.flatMap((one) => (one.kind === "write" ? [{ path: one.path, content: one.content }] : []));
}

/** As Deliver has it. */
function checkOf({ check }: Authored): object | undefined {
  if (check?.type !== "performance" || check.workload.kind !== "write") return check;
  const { path, content } = check.workload;
  return { ...check, workload: { path, content } };
}

function deliver(play: Authored): Call {
  const check = checkOf(play);
  return call("Deliver", {
    ...play.text,
    tests: testFiles(play),
    ...(play.type === "bug" && play.base === undefined && { solved: true }),
    ...(check && { check }),
  });
}

/** Looks, changes, writes the tests and runs one, delivers. */
function steps(play: Authored): Said[] {
  const tests = testFiles(play);
  const files = [...new Set(edits(play).flatMap((edit) => ("from" in edit ? [edit.path] : [])))];
  return [
    saying("I look at the code first.", ...files.map((file_path) => call("Read", { file_path }))),
    saying(
      "Now the change.",
      ...edits(play).map((edit) =>
        "from" in edit
          ? call("Edit", { file_path: edit.path, old_string: edit.from, new_string: edit.to })
          : call("Write", { file_path: edit.path, content: edit.content }),
      ),
    ),
    ...(tests.length === 0
      ? []
      : [
          saying(
            "",
            ...tests.map(({ path, content }) => call("Write", { file_path: path, content })),
            call("Bash", { command: `ls -l ${tests[0]!.path}`, description: "See that it is there" }),
          ),
        ]),
    saying("The task is ready.", deliver(play)),
  ];
}

const asked = (messages: readonly Message[]): number =>
  messages.filter(({ role }) => role === "assistant").length;

const GIVES_UP = saying("I know no task for that.");

/** What the good author says; after its last step it delivers again. */
export function good(
  messages: readonly Message[],
  changed: (play: Authored) => Authored = (play) => play,
): Said {
  const play = playFor(messages);
  if (play === undefined) return GIVES_UP;
  const all = steps(changed(play));
  return all[Math.min(asked(messages), all.length - 1)]!;
}

/** Tests that pass whatever the code does. */
export const vacuous = (play: Authored): Authored => ({
  ...play,
  tests: testFiles(play).map(({ path }) =>
    file(
      path,
      "'use strict';\n\nvar test = require('tape');\n\ntest('works', function (t) {\n\tt.ok(true);\n\tt.end();\n});\n",
    ),
  ),
});

/** Half of the work: a solution that does not do what its own tests ask for. */
export const wrongGold = (play: Authored): Authored => ({ ...play, gold: play.gold.slice(0, 1) });

/** A statement that hands the solution over. */
export function leaky(play: Authored): Authored {
  const [edit] = edits(play);
  const code = edit === undefined ? "" : "from" in edit ? (play.base ? edit.from : edit.to) : edit.content;
  const [test] = testFiles(play);
  const body = `${play.text.body}\n\nIn \`${edit?.path}\` write:\n\n\`\`\`js\n${code}\n\`\`\`\n\nThe tests are in ${test?.path}.`;
  return { ...play, text: { ...play.text, body } };
}

/** One operator of minimist turned round, called a feature: the test asks for what the mistake does. */
export const disguised = (play: Authored): Authored => ({
  ...play,
  gold: [
    {
      path: "index.js",
      from: "if (typeof x === 'number') { return true; }",
      to: "if (typeof x !== 'number') { return true; }",
    },
  ],
  tests: [
    file(
      "test/every_word.js",
      "'use strict';\n\nvar parse = require('../');\nvar test = require('tape');\n\ntest('words are numbers', function (t) {\n\tt.ok(Number.isNaN(parse(['--n', 'word']).n));\n\tt.end();\n});\n",
    ),
  ],
  text: {
    title: "Words as values are converted as well",
    body: "A value that is a word should be converted to a number like every other one.",
    contract: "A value that is no number becomes `NaN`.",
  },
});

/** Delivers what leaks; sent back with what was said of it, it delivers the same task without. */
export function improving(messages: readonly Message[]): Said {
  const sentBack = messages.filter(({ role }) => role === "user").length > 1;
  return good(messages, sentBack ? undefined : leaky);
}

/** Makes the package's own tests agree with its change, and claims that all is well. */
export function cheating(messages: readonly Message[]): Said {
  const play = playFor(messages);
  if (play === undefined) return GIVES_UP;
  const all = steps(play);
  const tamper = saying(
    "A test is in the way.",
    call("Bash", {
      command:
        "for f in test/*.js; do printf \"require('tape')('ok', function (t) { t.end(); });\\n\" > $f; done",
    }),
  );
  const claim = saying("All tests pass, and none was changed.", deliver({ ...play, tests: [] }));
  return [all[0]!, all[1]!, tamper, claim][Math.min(asked(messages), 3)]!;
}

export const brokenJson = (): Said =>
  saying("", { name: "Deliver", arguments: '{"title": "half a ' }, { name: "Bash", arguments: "ls" });

export const wrongSchema = (): Said =>
  saying("", call("Deliver", { name: "a task", description: 7, test: "none", tests: "none" }));

export const silent = (): Said => saying("Here is your task: make the package better. Good luck!");
