/** Rows of one JSON value: a list of objects, an object of objects by name, or one object. Its parts are found byte by byte, so that only one is held. */
import { ImportError } from "../types.ts";
import { decodeRow, describe, tooLarge } from "./decode.ts";
import { ROW_LIMIT_BYTES, type RowPlace, type RowRead } from "./types.ts";

const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const LINE_FEED = 0x0a;

const isBlank = (byte: number) => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === LINE_FEED;

/** A part of the outermost value: an item of the list, or a member of the object with its name. */
interface Part {
  readonly line: number;
  readonly key: string | null;
  /** null = above the limit. */
  readonly bytes: Buffer | null;
}

export async function* readJson(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  limit: number = ROW_LIMIT_BYTES,
): AsyncGenerator<RowRead> {
  const splitter = new Splitter(file, limit);
  let row = 0;
  const single: Record<string, unknown> = {};
  let isSingle: boolean | null = null;
  const parts = async function* () {
    for await (const chunk of chunks) yield* splitter.add(chunk);
    splitter.end();
  };
  try {
    for await (const { line, key, bytes } of parts()) {
      // An object whose first member is no object is a row itself.
      isSingle ??= key !== null && bytes !== null && bytes[0] !== OPEN_OBJECT;
      const at: RowPlace = { file, row: isSingle ? 1 : ++row, line: isSingle ? 1 : line };
      if (isSingle) {
        if (bytes === null) return yield tooLarge(at, limit);
        const member = decodeRow(
          Buffer.concat([Buffer.from('{"value":'), bytes, Buffer.from("}")]),
          at,
          null,
        );
        if ("error" in member) return yield member;
        single[key!] = member.row.value.value;
      } else yield bytes === null ? tooLarge(at, limit) : decodeRow(bytes, at, key);
    }
    if (isSingle) yield { row: { at: { file, row: 1, line: 1 }, key: null, value: single } };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    yield { error };
  }
}

type State = "start" | "part" | "key" | "colon" | "value" | "after" | "done";

/** Splits the outermost value. Throws ImportError `file` where its own brackets and commas are wrong. */
class Splitter {
  private readonly file: string;
  private readonly limit: number;
  private state: State = "start";
  private close = 0;
  private line = 1;
  private partLine = 1;
  private depth = 0;
  private inString = false;
  private escaped = false;
  private key: string | null = null;
  private parts: Uint8Array[] = [];
  private size = 0;

  constructor(file: string, limit: number) {
    this.file = file;
    this.limit = limit;
  }

  *add(chunk: Uint8Array): Generator<Part> {
    /** Where the part that goes on began in this chunk. */
    let from = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === LINE_FEED) this.line++;
      if (this.state === "key" || this.state === "value") {
        if (!this.ends(byte)) continue;
        // A string ends with its quote, everything else before the byte that is no longer its own.
        const whole = byte === QUOTE || ((byte === CLOSE_LIST || byte === CLOSE_OBJECT) && this.closed);
        this.keep(chunk.subarray(from, whole ? at + 1 : at));
        const bytes = this.takeBytes();
        if (this.state === "key") {
          this.key = this.readKey(bytes);
          this.state = "colon";
        } else {
          yield { line: this.partLine, key: this.key, bytes };
          this.state = "after";
        }
        if (whole) continue;
      }
      if (isBlank(byte)) continue;
      if (this.step(byte)) from = at;
    }
    if (this.state === "key" || this.state === "value") this.keep(chunk.subarray(from));
  }

  end(): void {
    if (this.state === "done") return;
    throw this.wrong(
      this.state === "start"
        ? "a list or an object of rows"
        : `${this.close === CLOSE_LIST ? "]" : "}"} at its end`,
      this.state === "start" ? "an empty file" : "a file that is cut off",
    );
  }

  private closed = false;

  /** Whether the key or value ends with, or before, this byte. */
  private ends(byte: number): boolean {
    this.closed = false;
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (byte === BACKSLASH) this.escaped = true;
      else if (byte === QUOTE) {
        this.inString = false;
        return this.depth === 0;
      }
      return false;
    }
    if (byte === QUOTE) this.inString = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) this.depth++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (this.depth === 0) return true;
      this.closed = --this.depth === 0;
      return this.closed;
    } else if (this.depth === 0) return byte === COMMA || isBlank(byte);
    return false;
  }

  /** A byte between parts; true where a key or value begins with it. */
  private step(byte: number): boolean {
    const { state } = this;
    if (state === "start") {
      if (byte !== OPEN_LIST && byte !== OPEN_OBJECT)
        throw this.wrong("a list or an object of rows", JSON.stringify(String.fromCharCode(byte)));
      this.close = byte === OPEN_LIST ? CLOSE_LIST : CLOSE_OBJECT;
      this.state = "part";
      return false;
    }
    if (state === "after" || state === "part") {
      if (byte === this.close) {
        this.state = "done";
        return false;
      }
      if (state === "after") {
        if (byte !== COMMA)
          throw this.wrong("a comma between rows", JSON.stringify(String.fromCharCode(byte)));
        this.state = "part";
        return false;
      }
      return this.begin(byte, this.close === CLOSE_LIST ? "value" : "key");
    }
    if (state === "colon") {
      if (byte === COLON) return false;
      return this.begin(byte, "value");
    }
    throw this.wrong("nothing after the rows", JSON.stringify(String.fromCharCode(byte)));
  }

  private begin(byte: number, state: "key" | "value"): boolean {
    if (state === "key" && byte !== QUOTE)
      throw this.wrong("a name in quotes", JSON.stringify(String.fromCharCode(byte)));
    if (byte === COMMA || byte === CLOSE_LIST || byte === CLOSE_OBJECT)
      throw this.wrong("a row", JSON.stringify(String.fromCharCode(byte)));
    this.state = state;
    if (state === "value" && this.close === CLOSE_LIST) this.key = null;
    if (state === "key" || this.close === CLOSE_LIST) this.partLine = this.line;
    this.inString = byte === QUOTE;
    this.escaped = false;
    this.depth = byte === OPEN_LIST || byte === OPEN_OBJECT ? 1 : 0;
    return true;
  }

  private keep(part: Uint8Array): void {
    this.size += part.length;
    if (this.size > this.limit) this.parts = [];
    else this.parts.push(Uint8Array.prototype.slice.call(part));
  }

  private takeBytes(): Buffer | null {
    const bytes = this.size > this.limit ? null : Buffer.concat(this.parts);
    this.parts = [];
    this.size = 0;
    return bytes;
  }

  private readKey(bytes: Buffer | null): string {
    if (bytes === null) throw this.wrong(`a name of at most ${this.limit} bytes`, "more");
    try {
      return JSON.parse(bytes.toString("utf8")) as string;
    } catch {
      throw this.wrong("a name in quotes", describe(bytes.toString("utf8")));
    }
  }

  private wrong(expected: string, found: string): ImportError {
    return new ImportError("file", { file: this.file, line: this.line }, expected, found);
  }
}
