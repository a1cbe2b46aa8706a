/**
 * Python's view of JSON values, as far as Leaf's tools show it: models trained in Leaf have seen these conversions and error
 * texts, so they are part of the harness.
 */

export type Arguments = Readonly<Record<string, unknown>>;

/** A tool's own failure: text for the model. `pythonName` is the exception's name in Leaf. */
export class ToolError extends Error {
  readonly pythonName: string;
  constructor(pythonName: string, message: string) {
    super(message);
    this.name = "ToolError";
    this.pythonName = pythonName;
  }
}

/** `bool(value)` of a JSON value. */
export function isTruthy(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** `repr(text)`. */
export function reprString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = "";
  for (const char of text) {
    const code = char.codePointAt(0)!;
    if (char === "\\" || char === quote) out += `\\${char}`;
    else if (char === "\n") out += "\\n";
    else if (char === "\r") out += "\\r";
    else if (char === "\t") out += "\\t";
    else if (code < 0x20 || (code >= 0x7f && code < 0xa1)) out += `\\x${code.toString(16).padStart(2, "0")}`;
    else if (code >= 0xd800 && code <= 0xdfff) out += `\\u${code.toString(16)}`;
    else out += char;
  }
  return quote + out + quote;
}

function repr(value: unknown): string {
  if (typeof value === "string") return reprString(value);
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (value === Number.POSITIVE_INFINITY) return "inf";
  if (value === Number.NEGATIVE_INFINITY) return "-inf";
  if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([key, item]) => `${reprString(key)}: ${repr(item)}`)
      .join(", ")}}`;
  return String(value);
}

/** `str(value)`. */
export function toText(value: unknown): string {
  return typeof value === "string" ? value : repr(value);
}

/** `str(value or "")`. */
export function textOrEmpty(value: unknown): string {
  return isTruthy(value) ? toText(value) : "";
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return "NoneType";
  return Array.isArray(value) ? "list" : "dict";
}

/** `int(value)`, or `fallback` for a missing, null or empty value. */
export function toInteger(value: unknown, fallback: number): number {
  if (value === undefined || value === null || value === "") return fallback;
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number") {
    if (Number.isFinite(value)) return Math.trunc(value);
    throw new ToolError("OverflowError", "cannot convert float infinity to integer");
  }
  if (typeof value === "string") {
    const text = value.trim();
    if (/^[+-]?\d+(_\d+)*$/.test(text)) return Number(text.replaceAll("_", ""));
    throw new ToolError("ValueError", `invalid literal for int() with base 10: ${reprString(value)}`);
  }
  throw new ToolError(
    "TypeError",
    `int() argument must be a string, a bytes-like object or a real number, not '${typeName(value)}'`,
  );
}

/** `float(value)`. */
export function toFloat(value: unknown): number {
  if (typeof value === "boolean") return value ? 1 : 0;
  if (typeof value === "number") return value;
  if (typeof value === "string") {
    const text = value.trim().toLowerCase();
    if (/^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)(e[+-]?\d+)?$/.test(text))
      return Number(text.replaceAll("_", ""));
    const infinite = /^([+-]?)inf(inity)?$/.exec(text);
    if (infinite) return infinite[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    if (/^[+-]?nan$/.test(text)) return Number.NaN;
    throw new ToolError("ValueError", `could not convert string to float: ${reprString(value)}`);
  }
  throw new ToolError(
    "TypeError",
    `float() argument must be a string or a real number, not '${typeName(value)}'`,
  );
}

/** Leaf's flags: a boolean, or one of `1 true yes on` in any case. */
export function isFlagSet(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  return ["1", "true", "yes", "on"].includes(textOrEmpty(value).trim().toLowerCase());
}

/** `len(text)`: code points. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Cuts after `limit` code points and says how many are missing. */
export function truncate(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const length = codePoints(text);
  if (length <= limit) return text;
  let end = 0;
  for (let kept = 0; kept < limit; kept++) end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return `${text.slice(0, end)}\n[truncated ${length - limit} chars]`;
}

/** `str.splitlines()`. */
export function splitLines(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Python's line boundaries include these controls
  const lines = text.split(/\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Universal newlines: what reading in text mode does to line ends. */
export function universalNewlines(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** Bytes as text; invalid UTF-8 becomes U+FFFD and a byte-order mark stays, as in Python. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** UTF-8; a lone surrogate, which JSON can carry, is an error. */
export function encodeUtf8(text: string): Uint8Array {
  if (!text.isWellFormed()) {
    let position = 0;
    for (const char of text) {
      if (!char.isWellFormed())
        throw new ToolError(
          "UnicodeEncodeError",
          `'utf-8' codec can't encode character '\\u${char.charCodeAt(0).toString(16)}' in position ${position}: surrogates not allowed`,
        );
      position++;
    }
  }
  return new TextEncoder().encode(text);
}
