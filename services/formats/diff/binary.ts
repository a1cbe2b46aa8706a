/** Binary changes of a diff: git's base 85, and its deltas. Pure. */
import { inflateSync } from "node:zlib";
import type { Lines } from "./parse.ts";
import { type BinaryPart, DiffError } from "./types.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
const LENGTHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** What one binary side may unpack to. */
const LIMIT_BYTES = 64 * 1024 * 1024;

/** One side, from its `literal` or `delta` line to the empty line; undefined where none stands. */
export function readBinary(lines: Lines): BinaryPart | undefined {
  const match = /^(literal|delta) (\d+)\r?$/.exec(lines.peek() ?? "");
  if (match === null) return undefined;
  const at = lines.number;
  lines.next();
  const packed: Buffer[] = [];
  for (let line = lines.next(); line !== undefined && line !== ""; line = lines.next())
    packed.push(decodeLine(line, lines.number - 1));
  const size = Number(match[2]);
  if (size > LIMIT_BYTES)
    throw new DiffError("unsupported", `line ${at}: a binary change of more than ${LIMIT_BYTES} bytes`);
  let bytes: Buffer;
  try {
    bytes = inflateSync(Buffer.concat(packed), { maxOutputLength: LIMIT_BYTES });
  } catch (error) {
    throw new DiffError(
      "syntax",
      `line ${at}: binary data that does not unpack: ${(error as Error).message}`,
    );
  }
  if (bytes.length !== size)
    throw new DiffError("syntax", `line ${at}: expected ${size} bytes, found ${bytes.length}`);
  return { kind: match[1] as BinaryPart["kind"], bytes };
}

function decodeLine(line: string, at: number): Buffer {
  const length = LENGTHS.indexOf(line[0]!) + 1;
  const digits = line.slice(1);
  if (length === 0 || digits.length !== Math.ceil(length / 4) * 5)
    throw new DiffError("syntax", `line ${at}: expected a length and groups of five characters of base 85`);
  const bytes = Buffer.alloc((digits.length / 5) * 4);
  for (let group = 0; group * 5 < digits.length; group++) {
    let value = 0;
    for (const digit of digits.slice(group * 5, group * 5 + 5)) {
      const worth = DIGITS.indexOf(digit);
      if (worth < 0)
        throw new DiffError("syntax", `line ${at}: ${JSON.stringify(digit)} is no digit of base 85`);
      value = value * 85 + worth;
    }
    if (value > 0xffffffff) throw new DiffError("syntax", `line ${at}: a group above 32 bits`);
    bytes.writeUInt32BE(value, group * 4);
  }
  return bytes.subarray(0, length);
}

/** What a delta makes of `source`. Throws DiffError `apply` where it was made of other bytes. */
export function applyDelta(source: Buffer, delta: Buffer, path: string): Buffer {
  let at = 0;
  const misfit = () => new DiffError("apply", "a binary delta that was made of other content", path);
  const byte = () => {
    const value = delta[at++];
    if (value === undefined) throw misfit();
    return value;
  };
  const size = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const part = byte();
      value += (part & 0x7f) * 2 ** shift;
      if ((part & 0x80) === 0) return value;
    }
  };
  if (size() !== source.length) throw misfit();
  const expected = size();
  const parts: Buffer[] = [];
  while (at < delta.length) {
    const command = byte();
    if (command === 0) throw misfit();
    if ((command & 0x80) === 0) {
      parts.push(delta.subarray(at, at + command));
      at += command;
      continue;
    }
    let [offset, length] = [0, 0];
    for (let i = 0; i < 4; i++) if (command & (1 << i)) offset += byte() * 2 ** (8 * i);
    for (let i = 0; i < 3; i++) if (command & (0x10 << i)) length += byte() * 2 ** (8 * i);
    if (length === 0) length = 0x10000;
    if (offset + length > source.length) throw misfit();
    parts.push(source.subarray(offset, offset + length));
  }
  const result = Buffer.concat(parts);
  if (result.length !== expected) throw misfit();
  return result;
}
