/** The recorded calls of the reference Leaf tools (tests/vectors/leaf-tools.json), as files, arguments and expected results. */
import { readFileSync } from "node:fs";

type Content = string | { readonly base64: string } | { readonly repeat: string; readonly count: number };

export interface ToolCase {
  readonly id: number;
  readonly files: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly result: string;
  /** Path -> base64 of the file after the call. */
  readonly changed: Readonly<Record<string, string>>;
}

const vectors = JSON.parse(readFileSync(new URL("../vectors/leaf-tools.json", import.meta.url), "utf8")) as {
  readonly files: Readonly<Record<string, Readonly<Record<string, Content>>>>;
  readonly cases: readonly ToolCase[];
};

export const toolCases = vectors.cases;

function bytesOf(content: Content): Buffer {
  if (typeof content === "string") return Buffer.from(content);
  if ("base64" in content) return Buffer.from(content.base64, "base64");
  return Buffer.from(
    Array.from({ length: content.count }, (_, i) => content.repeat.replace("{i}", String(i))).join(""),
  );
}

export function caseFiles(name: string): Record<string, Buffer> {
  if (name === "many")
    return Object.fromEntries(
      Array.from({ length: 1100 }, (_, i) => [`d${i % 7}/f${i}.txt`, Buffer.from(String(i))]),
    );
  return Object.fromEntries(
    Object.entries(vectors.files[name]!).map(([path, content]) => [path, bytesOf(content)]),
  );
}
