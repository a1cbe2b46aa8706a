/** The embedded policy's view of a conversation: what it may do next, and the calls that its tokens stand for. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openConversation, SLOTS } from "../../services/policy/nano/conversation.ts";
import { ASSISTANT, END_OF_TURN } from "../../services/policy/nano/tokens.ts";
import {
  answer,
  CHECK,
  COMMAND,
  candidates,
  EDIT,
  editToken,
  FINISH,
  GLOB,
  informed,
  READ,
  readText,
  SOURCE,
  started,
  take,
  UNDO,
} from "./nano-helpers.ts";

const WRONG = "  if (value > high) return low;";
const RIGHT = "  if (value > high) return high;";
const FIRST_FILE = 1024;

function tokensOf(conversation: Parameters<typeof candidates>[0], ...tokens: number[]): number[] {
  return [...candidates(conversation, ...tokens)!.tokens];
}

function call(name: string, args: Record<string, unknown>) {
  return { name, arguments: JSON.stringify(args) };
}

describe("a turn", () => {
  it("begins with what makes sense: no edit before a file was read, no undo before an edit", () => {
    expect(tokensOf(started())).toEqual([GLOB, READ, CHECK, FINISH]);
    expect(tokensOf(started("It is broken."))).toEqual([GLOB, FINISH]);
    expect(tokensOf(informed())).toEqual([READ, EDIT, CHECK, FINISH]);
  });

  it("lists sources outside of node_modules", () => {
    const { toolCalls } = take(started(), GLOB);
    expect(toolCalls.map((each) => JSON.parse(each.arguments))).toEqual([
      { pattern: "*.js" },
      { pattern: "[!n]*/**/*.js" },
    ]);
  });

  it("reads one of the files listed or named that it has not read", () => {
    const conversation = started();
    take(conversation, GLOB);
    answer(conversation, "index.js\ntest.js", "lib/a.js");
    expect(tokensOf(conversation, READ)).toEqual([FIRST_FILE, FIRST_FILE + 1, FIRST_FILE + 2]);
    const { toolCalls } = take(conversation, READ, FIRST_FILE + 2);
    expect(toolCalls.map(({ name, arguments: args }) => [name, args])).toEqual([
      ["Read", '{"file_path":"lib/a.js"}'],
    ]);
    answer(conversation, readText("lib/a.js", "exports.x = 1;"));
    expect(tokensOf(conversation, READ)).toHaveLength(2);
  });

  it("runs the statement's command word for word", () => {
    const { toolCalls } = take(informed(), CHECK);
    expect(JSON.parse(toolCalls[0]!.arguments)).toMatchObject({ command: COMMAND });
  });

  it("ends the run with an answer and no call", () => {
    const { content, toolCalls } = take(informed(), FINISH);
    expect(toolCalls).toEqual([]);
    expect(content).toMatch(/^I found nothing/);
  });

  it("holds an edit and its check, or an undone edit and a next one, but nothing that needs a result", () => {
    const conversation = informed();
    const token = editToken(conversation, "index.js", WRONG, RIGHT);
    expect(tokensOf(conversation, EDIT, token)).toEqual([END_OF_TURN, CHECK]);
    expect(tokensOf(conversation, EDIT, token, CHECK)).toEqual([END_OF_TURN]);
    const { toolCalls } = take(conversation, EDIT, token, CHECK);
    expect(toolCalls.map((each) => each.name)).toEqual(["Edit", "Bash"]);
    answer(conversation, "Edited index.js (1 replacement).", "Exit code: 0\nSTDOUT:\n3\n\nSTDERR:\n");
    expect(tokensOf(conversation, UNDO)).toEqual([END_OF_TURN, EDIT]);
    const next = take(conversation, UNDO, EDIT, 4096, CHECK);
    expect(next.toolCalls.map((each) => each.name)).toEqual(["Edit", "Edit", "Bash"]);
  });
});

describe("an edit", () => {
  it("replaces a string that occurs once, whatever stands around the change", () => {
    const conversation = informed();
    for (const token of candidates(conversation, EDIT)!.tokens) {
      const { toolCalls } = take(conversation.clone(), EDIT, token);
      const { old_string: before } = JSON.parse(toolCalls[0]!.arguments);
      expect(SOURCE.split(before)).toHaveLength(2);
    }
  });

  it("of a line that stands twice takes lines around it along", () => {
    const conversation = informed();
    const lines = SOURCE.split("\n");
    const second = lines.map((line, i) => (i === 7 ? "  if (value <= low) return low;" : line)).join("\n");
    const match = conversation.match(
      call("Edit", { file_path: "index.js", old_string: SOURCE, new_string: second }),
    )!;
    const { toolCalls } = take(conversation, ...match);
    const { old_string: before, new_string: after } = JSON.parse(toolCalls[0]!.arguments);
    expect(SOURCE.replace(before, () => after)).toBe(second);
  });

  it("can be undone by one that gives the text back", () => {
    const conversation = informed();
    for (const token of candidates(conversation, EDIT)!.tokens) {
      const trial = conversation.clone();
      const edit = JSON.parse(take(trial, EDIT, token).toolCalls[0]!.arguments);
      const edited = SOURCE.replace(edit.old_string, () => edit.new_string);
      answer(trial, "Edited index.js (1 replacement).");
      const undo = JSON.parse(take(trial, UNDO).toolCalls[0]!.arguments);
      expect(edited.split(undo.old_string)).toHaveLength(2);
      expect(edited.replace(undo.old_string, () => undo.new_string)).toBe(SOURCE);
    }
  });

  it("that the tool refused leaves everything as it was", () => {
    const conversation = informed();
    const before = tokensOf(conversation, EDIT);
    take(conversation, EDIT, before[0]!);
    answer(conversation, "ValueError: old_string was not found");
    expect(tokensOf(conversation)).toEqual([READ, EDIT, CHECK, FINISH]);
    expect(tokensOf(conversation, EDIT)).toEqual(before);
  });

  it("that was tried is told apart from one that was not, also after it was undone", () => {
    const conversation = informed();
    const token = editToken(conversation, "index.js", WRONG, RIGHT);
    const rowLength = (from: typeof conversation, of: number) => {
      const { tokens, offsets } = candidates(from, EDIT)!;
      const row = tokens.indexOf(of);
      return offsets[row + 1]! - offsets[row]!;
    };
    const fresh = rowLength(conversation, token);
    const other = rowLength(conversation, token + 1);
    take(conversation, EDIT, token);
    answer(conversation, "Edited index.js (1 replacement).");
    take(conversation, UNDO);
    answer(conversation, "Edited index.js (1 replacement).");
    const learnedOfLine = rowLength(conversation, token + 1) - other;
    expect(learnedOfLine).toBeGreaterThan(0);
    expect(rowLength(conversation, token) - fresh).toBeGreaterThan(learnedOfLine);
  });
});

describe("the check", () => {
  function featuresAfter(stdout: string): string {
    const conversation = informed();
    take(conversation, EDIT, editToken(conversation, "index.js", WRONG, RIGHT), CHECK);
    answer(conversation, "Edited index.js (1 replacement).", `Exit code: 0\nSTDOUT:\n${stdout}\n\nSTDERR:\n`);
    return candidates(conversation)!.features.join(" ");
  }

  it("tells the expected output, the old one and another apart, and so does the answer", () => {
    expect(new Set(["5", "1", "7"].map(featuresAfter)).size).toBe(3);
    const conversation = informed();
    take(conversation, EDIT, editToken(conversation, "index.js", WRONG, RIGHT), CHECK);
    answer(conversation, "Edited index.js (1 replacement).", "Exit code: 0\nSTDOUT:\n5\n\nSTDERR:\n");
    expect(take(conversation, FINISH).content).toMatch(/now prints what it should/);
  });

  it("holds only for the tree it was run on", () => {
    const conversation = informed();
    take(conversation, EDIT, editToken(conversation, "index.js", WRONG, RIGHT), CHECK);
    answer(conversation, "Edited index.js (1 replacement).", "Exit code: 0\nSTDOUT:\n5\n\nSTDERR:\n");
    take(conversation, EDIT, 4096);
    answer(conversation, "Edited index.js (1 replacement).");
    expect(take(conversation, FINISH).content).not.toMatch(/now prints/);
  });
});

describe("match", () => {
  it("gives the tokens of every call that the policy can make itself", () => {
    const conversation = informed();
    for (const token of candidates(conversation, EDIT)!.tokens) {
      const { toolCalls } = take(conversation.clone(), EDIT, token);
      expect(conversation.match(toolCalls[0]!)).toEqual([EDIT, token]);
    }
    const { toolCalls } = take(conversation.clone(), CHECK);
    expect(conversation.match(toolCalls[0]!)).toEqual([CHECK]);
    expect(started().match(call("Read", { file_path: "index.js" }))).toEqual([READ, FIRST_FILE]);
  });

  it("gives null for any other call", () => {
    const conversation = informed();
    const json = fc.oneof(fc.json(), fc.string());
    fc.assert(
      fc.property(fc.constantFrom("Read", "Edit", "Bash", "Write", "x"), json, (name, args) => {
        expect(conversation.match({ name, arguments: args })).toBeNull();
      }),
    );
    expect(
      conversation.match(call("Edit", { file_path: "index.js", old_string: WRONG, new_string: "" })),
    ).toBeNull();
  });
});

describe("any tokens at all", () => {
  const token = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 255 }) },
    { weight: 4, arbitrary: fc.integer({ min: 256, max: 260 }) },
    { weight: 2, arbitrary: fc.integer({ min: 512, max: 518 }) },
    fc.integer({ min: -5, max: 100_000 }),
  );

  it("leave a legal choice: well-formed rows, finite values, the turn's end within reach", () => {
    fc.assert(
      fc.property(fc.boolean(), fc.array(token, { maxLength: 60 }), (fresh, tokens) => {
        const conversation = fresh ? openConversation() : informed();
        for (const each of tokens) conversation.append(each);
        conversation.append(ASSISTANT);
        for (let step = 0; step < 8; step++) {
          const { tokens: ids, offsets, features, values } = conversation.next()!;
          expect(ids.length).toBeGreaterThan(0);
          expect(new Set(ids).size).toBe(ids.length);
          expect(offsets.length).toBe(ids.length + 1);
          expect(offsets.at(-1)).toBe(features.length);
          expect(features.every((slot) => slot >= 0 && slot < SLOTS)).toBe(true);
          expect(values.every(Number.isFinite)).toBe(true);
          if (ids.includes(END_OF_TURN)) return;
          conversation.append(ids[(tokens.length + step) % ids.length]!);
        }
        expect.unreachable("the turn did not end");
      }),
      { numRuns: 150 },
    );
  });

  it("and any texts of messages do so too", () => {
    fc.assert(
      fc.property(fc.string(), fc.string({ unit: "binary" }), fc.string(), (statement, listing, file) => {
        const conversation = started(statement);
        take(conversation, GLOB);
        answer(conversation, listing, listing);
        take(conversation, READ, FIRST_FILE);
        answer(conversation, file);
        expect(tokensOf(conversation)).toContain(FINISH);
      }),
    );
  });

  it("and a file of every kind: no JavaScript, huge, cut off, with lines that stand twice", () => {
    const long = Array.from({ length: 400 }, (_, i) => `x = ${i % 7} + ${i};`).join("\n");
    for (const text of ["# not code {", "", long, `${long}\n`.repeat(2), "x=1;x=1;x=1;", "a\n\n\n\nb"]) {
      const conversation = informed(undefined, text);
      const edits = tokensOf(conversation).includes(EDIT) ? candidates(conversation, EDIT)!.tokens : [];
      for (const token of [...edits].slice(0, 20)) {
        const trial = conversation.clone();
        const { old_string: before } = JSON.parse(take(trial, EDIT, token).toolCalls[0]!.arguments);
        expect(text.split(before)).toHaveLength(2);
      }
    }
    expect(tokensOf(informed(undefined, long))).toContain(EDIT);
  });
});

describe("a clone", () => {
  it("goes its own way and gives the same candidates for the same tokens", () => {
    const one = informed();
    const before = candidates(one)!;
    const two = one.clone();
    take(two, EDIT, candidates(two, EDIT)!.tokens[3]!);
    answer(two, "Edited index.js (1 replacement).");
    expect(candidates(one)).toEqual(before);
    expect(candidates(two)).not.toEqual(before);
    const three = informed();
    expect(candidates(three, EDIT)).toEqual(candidates(one, EDIT));
  });

  it("says nothing outside of the assistant's turn", () => {
    expect(openConversation().next()).toBeNull();
    expect(informed().next()).toBeNull();
  });
});

describe("a turn that another client wrote as text", () => {
  it("is understood by its calls", () => {
    const conversation = started();
    const text = '<tool_call>{"name":"Read","arguments":{"file_path":"index.js"}}</tool_call>';
    conversation.append(ASSISTANT);
    for (const byte of Buffer.from(text)) conversation.append(byte);
    conversation.append(END_OF_TURN);
    answer(conversation, readText("index.js", SOURCE));
    expect(conversation.render()).toBe(text);
    expect(tokensOf(conversation)).toContain(EDIT);
  });
});
