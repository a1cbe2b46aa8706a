/** What a scripted author says next: a function of what was said so far, so that it can be asked again. */
import { createHash } from "node:crypto";
import { PLAYS, type Play } from "./plays.ts";

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

/** Of those for the package and type that are asked for, one that leaves what must stay alone; undefined = it knows none. */
export function playFor(messages: readonly Message[]): Play | undefined {
  const wanted = { environment: fieldOf(messages, "Package"), type: fieldOf(messages, "Task type") };
  const fitting = PLAYS.filter(
    ({ environment, type }) => environment === wanted.environment && type === wanted.type,
  );
  const first = messages.find(({ role }) => role === "user")?.content ?? "";
  const number = createHash("sha256").update(first).digest().readUInt32BE(0);
  return fitting[number % Math.max(1, fitting.length)];
}

const deliver = ({ title, body, contract, tests, check }: Play): Call =>
  call("Deliver", { title, body, contract, tests, ...(check && { check }) });

/** Looks, changes, writes the tests and runs one, delivers. */
function steps(play: Play): Said[] {
  const { edits, tests } = play;
  const files = [...new Set(edits.map(({ file }) => file))];
  return [
    saying("I look at the code first.", ...files.map((file_path) => call("Read", { file_path }))),
    saying(
      "Now the change.",
      ...edits.map(({ file, find, replace }) =>
        call("Edit", { file_path: file, old_string: find, new_string: replace }),
      ),
    ),
    ...(tests.length === 0
      ? []
      : [
          saying(
            "",
            ...tests.map(({ path, content }) => call("Write", { file_path: path, content })),
            call("Bash", { command: `node ${tests[0]!.path}`, description: "Run the new tests" }),
          ),
        ]),
    saying("The task is ready.", deliver(play)),
  ];
}

const asked = (messages: readonly Message[]): number =>
  messages.filter(({ role }) => role === "assistant").length;

const GIVES_UP = saying("I know no task for that.");

/** What the good author says; after its last step it delivers again. */
export function good(messages: readonly Message[], changed: (play: Play) => Play = (play) => play): Said {
  const play = playFor(messages);
  if (play === undefined) return GIVES_UP;
  const all = steps(changed(play));
  return all[Math.min(asked(messages), all.length - 1)]!;
}

/** Tests that pass whatever the code does. */
export const vacuous = (play: Play): Play => ({
  ...play,
  tests: play.tests.map(({ path }) => ({
    path,
    content:
      "'use strict';\n\nvar test = require('tape');\n\ntest('works', function (t) {\n\tt.ok(true);\n\tt.end();\n});\n",
  })),
});

/** A solution that does not do what its own tests ask for. */
export const wrongGold = (play: Play): Play => ({ ...play, edits: play.edits.slice(0, 1) });

/** A statement that hands the solution over. */
export const leaky = (play: Play): Play => ({
  ...play,
  body: `${play.body}\n\nIn \`${play.edits[0]!.file}\` write:\n\n\`\`\`js\n${play.edits[0]![play.type === "bug" ? "find" : "replace"]}\n\`\`\`\n\nThe tests are in ${play.tests[0]?.path ?? "test/"}.`,
});

/** One operator turned round, called a feature: the test asks for what the mistake does. */
export const disguised = (play: Play): Play => ({
  ...play,
  edits: [
    {
      file: "index.js",
      find: "if (typeof x === 'number') { return true; }",
      replace: "if (typeof x !== 'number') { return true; }",
    },
  ],
  tests: [
    {
      path: "test/every_word.js",
      content:
        "'use strict';\n\nvar parse = require('../');\nvar test = require('tape');\n\ntest('words are numbers', function (t) {\n\tt.ok(Number.isNaN(parse(['--n', 'word']).n));\n\tt.end();\n});\n",
    },
  ],
  title: "Words as values are converted as well",
  body: "A value that is a word should be converted to a number like every other one.",
  contract: "A value that is no number becomes `NaN`.",
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
