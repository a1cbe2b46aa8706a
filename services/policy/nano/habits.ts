/**
 * Habits of the start policy: how often each tool follows in each situation, as distributions to imitate. They know the tools' order of
 * use, and check, undo and try again only now and then: a policy that never checks cannot discover it, and one that always does has
 * nothing left to learn.
 */
import type { Example } from "./fit.ts";
import { Features, pack } from "./hashing.ts";
import { readIssue } from "./issue.ts";
import { NO_STATE, type State, type TriedEdit } from "./state.ts";
import { fileFeatures, TOOLS, type ToolName, thenFeatures, toolFeatures } from "./tool-features.ts";

type Habit = Partial<Record<ToolName, number>>;

/** The right-hand sides need not sum to 1. */
const CLEAN: Habit = { read: 0.02, edit: 0.9, check: 0.04, finish: 0.04 };
/** Nothing done yet, and other sources unread. */
const CURIOUS: Habit = { read: 0.7, edit: 0.26, check: 0.02, finish: 0.02 };
const UNCHECKED: Habit = { read: 0.01, check: 0.4, finish: 0.5, undo: 0.05, edit: 0.04 };
const PASSED: Habit = { read: 0.01, finish: 0.88, edit: 0.04, check: 0.03, undo: 0.04 };
const FAILED: Habit = { read: 0.02, undo: 0.75, finish: 0.12, edit: 0.08, check: 0.03 };
const UNDONE: Habit = { read: 0.01, edit: 0.88, finish: 0.08, check: 0.03 };
/** Chance that a call is followed by another in the same turn. */
const GOES_ON = { check: 0.45, edit: 0.45 };

const issue = readIssue("Run:\n\n```\nnode -e ''\n```\n");

function toolExample(state: State, canEdit: boolean, habit: Habit, unreadSources = 0): Example {
  const tools = TOOLS.filter((tool) => habit[tool] !== undefined);
  const total = tools.reduce((sum, tool) => sum + habit[tool]!, 0);
  return {
    candidates: pack(
      tools.map((_, index) => index),
      (index) => [toolFeatures(tools[index]!, state, { canEdit, unreadSources })],
    ),
    shifts: [],
    targets: tools.map((tool, index) => [index, habit[tool]! / total]),
  };
}

function working(): Example[] {
  const examples: Example[] = [];
  const read = { ...NO_STATE, issue, files: ["index.js"], texts: new Map([["index.js", ""]]) };
  for (let tries = 0; tries <= 4; tries++) {
    const tried = new Map(
      Array.from({ length: tries }, (_, i): [string, TriedEdit] => [
        String(i),
        { path: "", line: 1, effect: "same" },
      ]),
    );
    for (const turns of [2, 8, 14, 20]) {
      const state = { ...read, tried, turns };
      if (tries === 0) {
        examples.push(toolExample(state, true, CLEAN));
        for (const unread of [1, 2]) examples.push(toolExample(state, true, CURIOUS, unread));
        continue;
      }
      examples.push(toolExample(state, true, UNDONE), toolExample(state, true, UNDONE, 1));
      for (let outstanding = 1; outstanding <= Math.min(2, tries); outstanding++) {
        const applied = Array.from({ length: outstanding }, () => ({ path: "", previous: "", key: "" }));
        const changed = { ...state, applied };
        examples.push(toolExample(changed, true, UNCHECKED));
        examples.push(toolExample({ ...changed, check: "passed" }, true, PASSED));
        for (const check of ["partial", "changed", "same", "error"] as const)
          examples.push(toolExample({ ...changed, check }, true, FAILED));
      }
    }
  }
  return examples;
}

/** A state without a reproduction cannot check. */
function withoutCommand(): Example[] {
  const { issue: silent } = NO_STATE;
  const read = { ...NO_STATE, issue: silent, files: ["index.js"], texts: new Map([["index.js", ""]]) };
  const applied = [{ path: "", previous: "", key: "" }];
  const tried = new Map([["0", { path: "", line: 1, effect: "unknown" as const }]]);
  return [
    toolExample(read, true, { edit: 0.95, finish: 0.05 }),
    toolExample({ ...read, applied, tried }, true, { finish: 0.85, edit: 0.1, undo: 0.05 }),
  ];
}

function looking(): Example[] {
  const listed = { ...NO_STATE, issue, files: ["index.js"] };
  const read = { ...listed, texts: new Map([["data.js", ""]]) };
  return [
    toolExample({ ...NO_STATE, issue }, false, { glob: 0.94, check: 0.03, finish: 0.03 }),
    toolExample(listed, false, { read: 0.95, check: 0.03, finish: 0.02 }, 1),
    toolExample(listed, false, { read: 0.95, check: 0.03, finish: 0.02 }, 2),
    toolExample(read, false, { read: 0.9, check: 0.03, finish: 0.07 }, 1),
  ];
}

function goingOn(): Example[] {
  return [0, 1, 2, 3].flatMap((tries) => {
    const tried = new Map(
      Array.from({ length: tries }, (_, i): [string, TriedEdit] => [
        String(i),
        { path: "", line: 1, effect: "same" },
      ]),
    );
    const pairs = [
      ["edit", "check"],
      ["undo", "edit"],
    ] as const;
    return pairs.map(([last, tool]): Example => {
      const chance = GOES_ON[tool];
      return {
        candidates: pack([0, 1], (index) => [
          index === 0 ? null : thenFeatures(tool, last, { ...NO_STATE, tried }),
        ]),
        shifts: [],
        targets: [
          [0, 1 - chance],
          [1, chance],
        ],
      };
    });
  });
}

/** Which file to read first: the one the statement names or requires, a source rather than a test. */
function reading(): Example[] {
  const listings = [
    { text: "`lib/a.js:3`", files: ["index.js", "lib/a.js", "lib/b.js", "test/a.js"], right: "lib/a.js" },
    {
      text: "Run:\n\n```\nrequire('./')\n```\n",
      files: ["bench.js", "index.js", "lib/util.js", "test.js"],
      right: "index.js",
    },
    {
      text: "Run:\n\n```\nrequire('./encode')\n```\n",
      files: ["decode.js", "encode.js", "index.js", "test/all.js"],
      right: "encode.js",
    },
    {
      text: "Run:\n\n```\nrequire('./lib/parse')\n```\n",
      files: ["example/use.js", "index.js", "lib/parse.js", "lib/utils.js"],
      right: "lib/parse.js",
    },
    { text: "the parser fails", files: ["format.js", "parser.js", "test/parser.js"], right: "parser.js" },
    { text: "it fails", files: ["example/x.js", "main.js", "perf/x.js", "test/x.js"], right: "main.js" },
  ];
  return listings.map(({ text, files, right }) => {
    const state = { ...NO_STATE, issue: readIssue(text), files };
    return {
      candidates: pack(
        files.map((_, index) => index),
        (index) => [fileFeatures(files[index]!, state)],
      ),
      shifts: [],
      targets: [[files.indexOf(right), 1]],
    };
  });
}

/** An edit that was tried is rarely tried again. */
function tryingAnew(): Example {
  const tried = new Features();
  tried.add("edit:tried");
  return {
    candidates: pack([0, 1], (index) => [index === 0 ? null : tried]),
    shifts: [],
    targets: [
      [0, 0.98],
      [1, 0.02],
    ],
  };
}

export function drawHabits(): Example[] {
  return [...looking(), ...working(), ...withoutCommand(), ...goingOn(), ...reading(), tryingAnew()];
}
