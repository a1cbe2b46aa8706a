/** JSON values within a text, and the calls they may be. */
import type { ToolCall } from "../../../core/trajectory.ts";

/** End (exclusive) of the JSON object or array that starts at `from`, by its brackets outside of strings; -1 when it does not end. */
export function jsonEnd(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if ((char === "}" || char === "]") && --depth === 0) return i + 1;
  }
  return -1;
}

/** First index from `at` on that is no white space. */
export function skipSpace(text: string, at: number): number {
  while (/\s/.test(text[at] ?? "")) at++;
  return at;
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `arguments` that are a text stay it, whatever it holds. */
export function callOf(name: unknown, args: unknown): Omit<ToolCall, "id"> | null {
  if (typeof name !== "string") return null;
  return { name, arguments: typeof args === "string" ? args : JSON.stringify(args) };
}
