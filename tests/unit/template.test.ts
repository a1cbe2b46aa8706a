import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createNanoTemplate } from "../../services/policy/nano/template.ts";
import {
  ASSISTANT,
  END_OF_TURN,
  encodeText,
  FIRST_ACTION,
  SYSTEM,
  TOOL,
  USER,
} from "../../services/policy/nano/tokens.ts";
import { parseToolCalls, renderToolCall } from "../../services/policy/tool-calls.ts";

const template = createNanoTemplate();

describe("tool calls in a turn's text", () => {
  const args = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })).map((one) => JSON.stringify(one));
  const call = fc.record({ name: fc.string(), arguments: args });

  it("come back from their text as they were, with the text around them", () => {
    const content = fc.string({ unit: fc.constantFrom("a", " b", "<", "{", '"', "\n") });
    fc.assert(
      fc.property(content, fc.array(call, { maxLength: 4 }), (text, calls) => {
        const turn = [text, ...calls.map(renderToolCall)].join("\n");
        const parsed = parseToolCalls(turn, "c");
        expect(parsed.toolCalls.map((one) => [one.name, JSON.parse(one.arguments)])).toEqual(
          calls.map((one) => [one.name, JSON.parse(one.arguments)]),
        );
        expect(parsed.content).toBe(text.trim() || null);
      }),
    );
  });

  it("have ids of their own", () => {
    const { toolCalls } = parseToolCalls(renderToolCall({ name: "A", arguments: "{}" }).repeat(3), "call-7");
    expect(toolCalls.map((one) => one.id)).toEqual(["call-7-0", "call-7-1", "call-7-2"]);
  });

  it.each([
    ["<tool_call>{}</tool_call>"],
    ['<tool_call>{"name": 1}</tool_call>'],
    ['<tool_call>{"name": "Read"</tool_call>'],
    ['<tool_call>{"name": "Read"}'],
    ["<tool_call></tool_call>"],
    ["<tool_call>[]</tool_call>"],
    ["<tool_call>null</tool_call>"],
    ["<tool_call>{'name': 'Read'}</tool_call>"],
  ])("%s is text", (text) => {
    expect(parseToolCalls(text, "c")).toEqual({ content: text, toolCalls: [] });
  });

  it("may hold their own closing tag within a string", () => {
    const given = { name: "Write", arguments: JSON.stringify({ content: "</tool_call>}{<tool_call>" }) };
    expect(parseToolCalls(renderToolCall(given), "c").toolCalls).toEqual([{ id: "c-0", ...given }]);
  });

  it("may have spaces about them, no arguments, or arguments that are a text", () => {
    expect(parseToolCalls('<tool_call>\n {"name": "A"} \n</tool_call>', "c").toolCalls[0]).toMatchObject({
      arguments: "{}",
    });
    const text = parseToolCalls('<tool_call>{"name":"A","arguments":"not json"}</tool_call>', "c");
    expect(text.toolCalls[0]).toMatchObject({ arguments: "not json" });
  });

  it("are found in any text without failing", () => {
    const piece = fc.constantFrom("<tool_call>", "</tool_call>", '{"name":"A"}', "{", "}", '"', "\\", "x");
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const { content, toolCalls } = parseToolCalls(pieces.join(""), "c");
        expect(content !== null || toolCalls.length > 0 || pieces.join("").trim() === "").toBe(true);
      }),
    );
  });
});

describe("the embedded policy's template", () => {
  it("frames each message by markers and opens the assistant's turn", () => {
    const messages = [
      { role: "system", content: "s" },
      { role: "user", content: "é" },
    ] as const;
    expect(template.start(messages, [])).toEqual([
      ...[SYSTEM, 115, END_OF_TURN],
      ...[USER, 0xc3, 0xa9, END_OF_TURN],
      ASSISTANT,
    ]);
  });

  it("renders only the new messages after a turn", () => {
    const result = (content: string) => ({ role: "tool", toolCallId: "c", content }) as const;
    expect(template.extend([result("a"), result("")], [])).toEqual([
      ...[TOOL, 97, END_OF_TURN],
      ...[TOOL, END_OF_TURN],
      ASSISTANT,
    ]);
  });

  it("lets no text bring in a marker or an action", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (content) => {
        const tokens = template.extend([{ role: "tool", toolCallId: "c", content }], []);
        const inner = tokens.slice(1, -2);
        expect(inner.every((token) => token >= 0 && token < 256)).toBe(true);
        expect(tokens.filter((token) => token >= FIRST_ACTION)).toEqual([]);
        expect(Buffer.from(inner).toString("utf8")).toBe(content.toWellFormed());
        expect(encodeText(content)).toEqual(inner);
      }),
    );
  });
});
