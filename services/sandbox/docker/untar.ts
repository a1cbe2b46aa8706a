/** Reads a tar archive entry by entry: ustar, GNU's long names, pax. What an entry may be is for its reader to say. */

export interface ArchivedEntry {
  /** As it stands in the archive: maybe absolute, maybe with `..`. */
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "hardlink" | "other";
  /** Of a file. */
  readonly content: Uint8Array;
  /** Of a link. */
  readonly target: string;
  readonly executable: boolean;
}

export class ArchiveError extends Error {
  readonly kind = "damaged";
  constructor(message: string) {
    super(message);
    this.name = "ArchiveError";
  }
}

const BLOCK = 512;

const TYPES: Readonly<Record<string, ArchivedEntry["type"]>> = {
  "0": "file",
  "\0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "5": "directory",
};

/** The archive is not gzipped. Throws ArchiveError where it is none, or ends early. */
export function* untar(bytes: Uint8Array): Generator<ArchivedEntry> {
  let pax = new Map<string, string>();
  let longName: string | undefined;
  let longLink: string | undefined;
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const header = bytes.subarray(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) break;
    if (!isHeader(header)) throw new ArchiveError("no tar archive, or a damaged one");
    const prefix = text(header.subarray(257, 263)) === "ustar" ? text(header.subarray(345, 500)) : "";
    const short = text(header.subarray(0, 100));
    const path = pax.get("path") ?? longName ?? (prefix === "" ? short : `${prefix}/${short}`);
    const size = Number(pax.get("size") ?? number(header.subarray(124, 136)));
    const start = at + BLOCK;
    if (!(size >= 0 && start + size <= bytes.length))
      throw new ArchiveError(`ends in the middle of ${JSON.stringify(path)}`);
    const content = bytes.subarray(start, start + size);
    at = start + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(header[156]!);
    if (type === "x") pax = paxRecords(content);
    else if (type === "L") longName = text(content);
    else if (type === "K") longLink = text(content);
    if ("xgLK".includes(type)) continue;
    yield {
      path,
      type: TYPES[type] ?? "other",
      content,
      target: pax.get("linkpath") ?? longLink ?? text(header.subarray(157, 257)),
      executable: (number(header.subarray(100, 108)) & 0o111) !== 0,
    };
    [pax, longName, longLink] = [new Map(), undefined, undefined];
  }
}

/** Bytes up to the first NUL, as text. */
function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end === -1 ? bytes : bytes.subarray(0, end)).toString("utf8");
}

/** Octal, or GNU's base 256 for what octal cannot hold. */
function number(bytes: Uint8Array): number {
  if ((bytes[0]! & 0x80) === 0) return Number.parseInt(text(bytes).trim() || "0", 8);
  let value = bytes[0]! & 0x7f;
  for (const byte of bytes.subarray(1)) value = value * 256 + byte;
  return value;
}

/** `<length> <key>=<value>\n` records of a pax header. */
function paxRecords(bytes: Uint8Array): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const length = Number.parseInt(Buffer.from(bytes.subarray(at, space)).toString("latin1"), 10);
    if (space === -1 || !(length > 0)) break;
    const record = Buffer.from(bytes.subarray(space + 1, at + length - 1)).toString("utf8");
    const equals = record.indexOf("=");
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

/** A header's sum of bytes, its own field read as spaces, is in that field. */
function isHeader(header: Uint8Array): boolean {
  let sum = 0;
  for (const [at, byte] of header.entries()) sum += at >= 148 && at < 156 ? 0x20 : byte;
  return sum === number(header.subarray(148, 156));
}
