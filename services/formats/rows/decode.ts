/** Bytes of one row -> its value, or what is wrong with them. */
import { ImportError } from "../types.ts";
import { ROW_LIMIT_BYTES, type RowPlace, type RowRead } from "./types.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** What a value is called in an error. */
export function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "string")
    return value.length > 60 ? `a text of ${value.length} characters` : `the text ${JSON.stringify(value)}`;
  if (typeof value === "object") return "an object";
  return `${typeof value} ${String(value)}`;
}

/** The row that `bytes` are. `cut`: the file ends within it. */
export function decodeRow(bytes: Uint8Array, at: RowPlace, key: string | null, cut = false): RowRead {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    const offset = invalidAt(bytes);
    const byte = bytes[offset]!.toString(16).padStart(2, "0");
    return { error: new ImportError("row", at, "UTF-8", `byte 0x${byte} at ${offset} of the row`) };
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = (error as Error).message.replace(/ in JSON at position/, " at character");
    const found = cut ? `a row that the file ends in: ${why}` : why;
    return { error: new ImportError("row", at, "a JSON object", found) };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { error: new ImportError("row", at, "a JSON object", describe(value)) };
  return { row: { at, key, value: value as Record<string, unknown> } };
}

export const tooLarge = (at: RowPlace, limit: number = ROW_LIMIT_BYTES): RowRead => ({
  error: new ImportError("size", at, `at most ${limit} bytes in a row`, "more"),
});

/** Offset of the first byte that is no UTF-8: the longest valid beginning, by halving. */
function invalidAt(bytes: Uint8Array): number {
  let [valid, invalid] = [0, bytes.length];
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    // A cut inside a character is no error of its own: `stream` waits for its rest.
    const beginning = new TextDecoder("utf-8", { fatal: true });
    try {
      beginning.decode(bytes.subarray(0, middle), { stream: true });
      valid = middle;
    } catch {
      invalid = middle;
    }
  }
  return valid;
}
