/** How the small model is shown messages and tools, and where calls are in what it writes: ChatML with Hermes' tags, as vLLM's parser `hermes` reads them. */

interface Call {
  readonly function: { readonly name: string; readonly arguments: string };
}

export interface ChatMessage {
  readonly role: string;
  readonly content?: string | null;
  readonly tool_calls?: readonly Call[];
}

const turn = (role: string, text: string): string => `<|im_start|>${role}\n${text}<|im_end|>\n`;
const callText = (name: string, written: string): string =>
  `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${written}}\n</tool_call>`;

export function promptOf(messages: readonly ChatMessage[], tools: readonly object[]): string {
  const told = tools.map((tool) => JSON.stringify(tool)).join("\n");
  const [first, ...rest] = messages;
  const system = `${first?.content ?? ""}\n\nYour tools:\n<tools>\n${told}\n</tools>\nA call is written like this:\n${callText("Read", '{"file_path": "index.js"}')}`;
  const turns = rest.map(({ role, content, tool_calls: calls = [] }) => {
    if (role === "tool") return turn("user", `<tool_response>\n${content}\n</tool_response>`);
    const made = calls.map(({ function: { name, arguments: written } }) => callText(name, written));
    return turn(role, [content ?? "", ...made].filter((part) => part !== "").join("\n"));
  });
  return `${turn("system", system)}${turns.join("")}<|im_start|>assistant\n`;
}

/** A call and nothing else, of a tool that there is, with any JSON object: what servers do where a call is required. */
export function callGrammar(names: readonly string[]): string {
  const name = names.map((one) => `"${one}"`).join(" | ");
  return `root ::= "<tool_call>\\n{\\"name\\": \\"" name "\\", \\"arguments\\": " object "}\\n</tool_call>"
name ::= ${name}
object ::= "{" (member (", " member)*)? "}"
member ::= string ": " value
value ::= string | number | object | array | "true" | "false" | "null"
array ::= "[" (value (", " value)*)? "]"
string ::= "\\"" ([^"\\\\\\x00-\\x1F] | "\\\\" ["\\\\/nt])* "\\""
number ::= "-"? [0-9]+
`;
}

/** What is no call stays text. */
export function callsOf(text: string): {
  readonly content: string;
  readonly calls: readonly { name: string; arguments: string }[];
} {
  const calls: { name: string; arguments: string }[] = [];
  const content = text.replace(/<tool_call>\s*([\s\S]*?)\s*<\/tool_call>/g, (whole, json: string) => {
    try {
      const { name, arguments: given } = JSON.parse(json) as { name: unknown; arguments: unknown };
      if (typeof name !== "string") return whole;
      calls.push({ name, arguments: JSON.stringify(given ?? {}) });
      return "";
    } catch {
      return whole;
    }
  });
  return { content: content.trim(), calls };
}
