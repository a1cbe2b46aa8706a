/** Calls of tools as families of models write them: golden files, and what a chat template writes read back. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Template } from "@huggingface/jinja";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CALL_FORMATS, type CallFormat } from "../../core/experiment.ts";
import { TOOL_DEFINITIONS } from "../../services/harness/tools/index.ts";
import { parseTurn, turnSpans } from "../../services/policy/calls/families.ts";
import { CHATML } from "../support/models/index.ts";

const folder = join(import.meta.dirname, "golden/tool-calls");

interface Golden {
  readonly content: string | null;
  /** Arguments as the value that their text holds. */
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  /** What each stretch of the text is for. */
  readonly spans: readonly (readonly [string, string])[];
}

function read(format: CallFormat, text: string): Golden {
  const { content, toolCalls } = parseTurn(format, text, "c", TOOL_DEFINITIONS);
  let from = 0;
  const spans = turnSpans(format, text).map(({ of, length }) => {
    from += length;
    return [of, text.slice(from - length, from)] as const;
  });
  expect(from).toBe(text.length);
  expect(toolCalls.map(({ id }) => id)).toEqual(toolCalls.map((_, i) => `c-${i}`));
  const calls = toolCalls.map((call) => ({
    name: call.name,
    arguments: JSON.parse(call.arguments) as unknown,
  }));
  return { content, calls, spans };
}

describe.each(CALL_FORMATS)("%s", (format) => {
  const names = readdirSync(join(folder, format))
    .filter((file) => file.endsWith(".txt"))
    .map((file) => file.slice(0, -".txt".length));

  it.each(names)("%s", (name) => {
    const text = readFileSync(join(folder, format, `${name}.txt`), "utf8");
    const golden = JSON.parse(readFileSync(join(folder, format, `${name}.json`), "utf8")) as Golden;
    expect(read(format, text)).toEqual(golden);
  });

  it("takes any text, and says of every character what it is for", () => {
    const parts = fc.constantFrom(
      ..."<tool_call>,</tool_call>,<function=Bash>,</function>,<parameter=command>,</parameter>,[TOOL_CALLS],```json,```,<think>,</think>".split(
        ",",
      ),
      '{"name": "Bash", "arguments": {"command": "ls"}}',
      "{",
      "}",
      "[",
      "]",
      '"',
      "\n",
      "a",
      "é",
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 16 }), (some) => {
        const text = some.join("");
        const spans = turnSpans(format, text);
        expect(spans.reduce((sum, { length }) => sum + length, 0)).toBe(text.length);
        const { content, toolCalls } = parseTurn(format, text, "c", TOOL_DEFINITIONS);
        if (toolCalls.length === 0) expect(content).toBe(text.trim() || null);
      }),
    );
  });
});

describe("what a chat template writes", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", " ", "\n", "<", ">", '"', "\\", "{", "é", "null", "true", "42"),
  });
  const argumentsOf = fc.oneof(
    fc.record({ command: text }).map((args) => ({ name: "Bash", args })),
    fc.record({ file_path: text, content: text }).map((args) => ({ name: "Write", args })),
    fc.record({ file_path: text, offset: fc.nat(), limit: fc.nat() }).map((args) => ({ name: "Read", args })),
    fc
      .record({ file_path: text, old_string: text, new_string: text, replace_all: fc.boolean() })
      .map((args) => ({ name: "Edit", args })),
  );
  const FAMILIES = [
    ["hermes", "hermes-json"],
    ["qwen", "qwen-xml"],
    ["hermes", "generic"],
  ] as const;

  it.each(FAMILIES)("as %s is read back as %s, call by call", (family, format) => {
    const template = new Template(CHATML[family]);
    const said = fc.constantFrom("", "I look.", "one\ntwo");
    fc.assert(
      fc.property(said, fc.array(argumentsOf, { minLength: 1, maxLength: 3 }), (content, calls) => {
        const messages = [
          { role: "user", content: "-" },
          {
            role: "assistant",
            content,
            tool_calls: calls.map(({ name, args }) => ({
              type: "function",
              function: { name, arguments: args },
            })),
          },
        ];
        const whole = template.render({ messages, add_generation_prompt: false });
        const open = whole.lastIndexOf("<|im_start|>assistant\n") + "<|im_start|>assistant\n".length;
        const turn = whole
          .slice(open, whole.lastIndexOf("<|im_end|>"))
          .replace("<think>\n\n</think>\n\n", "");
        const { calls: read_, content: rest } = read(format, turn);
        expect(read_).toEqual(calls.map(({ name, args }) => ({ name, arguments: args })));
        expect(rest ?? "").toBe(content);
      }),
    );
  });
});
