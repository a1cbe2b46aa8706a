/** A tar archive as it goes into a container: files, folders and links, modes of git, no times, no owners. */
import { PosixError } from "../tree/resolve.ts";

export type TarEntry =
  | {
      readonly type: "file";
      readonly path: string;
      readonly content: Uint8Array;
      readonly executable: boolean;
    }
  | { readonly type: "symlink"; readonly path: string; readonly target: string }
  | { readonly type: "directory"; readonly path: string };

const BLOCK = 512;
const NAME_BYTES = 100;
/** Eleven octal digits. */
const MAX_FILE_BYTES = 8 ** 11 - 1;

/** The archive piece by piece, its end included. Throws PosixError EFBIG for a file that a header cannot describe. */
export function* tar(entries: Iterable<TarEntry>): Generator<Uint8Array> {
  for (const entry of entries) {
    yield* longName("L", entry.path);
    if (entry.type === "symlink") {
      yield* longName("K", entry.target);
      yield header({ path: entry.path, mode: 0o777, bytes: 0, type: "2", target: entry.target });
      continue;
    }
    if (entry.type === "directory") {
      yield header({ path: entry.path, mode: 0o755, bytes: 0, type: "5", target: "" });
      continue;
    }
    const bytes = entry.content.length;
    if (bytes > MAX_FILE_BYTES) throw new PosixError("EFBIG", entry.path);
    yield header({ path: entry.path, mode: entry.executable ? 0o755 : 0o644, bytes, type: "0", target: "" });
    yield entry.content;
    yield padding(bytes);
  }
  yield new Uint8Array(2 * BLOCK);
}

/** GNU's way to names that do not fit: an entry before the real one, whose content is the name. */
function* longName(type: "L" | "K", name: string): Generator<Uint8Array> {
  const content = Buffer.from(name);
  if (content.length <= NAME_BYTES) return;
  yield header({ path: "././@LongLink", mode: 0, bytes: content.length + 1, type, target: "" });
  yield content;
  yield new Uint8Array(1);
  yield padding(content.length + 1);
}

const padding = (bytes: number): Uint8Array => new Uint8Array((BLOCK - (bytes % BLOCK)) % BLOCK);

function header(of: {
  readonly path: string;
  readonly mode: number;
  readonly bytes: number;
  readonly type: "0" | "2" | "5" | "L" | "K";
  readonly target: string;
}): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) =>
    block.write(value.toString(8).padStart(digits, "0"), at, "latin1");
  Buffer.from(of.path).copy(block, 0, 0, NAME_BYTES);
  octal(of.mode, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(of.bytes, 124, 11);
  octal(0, 136, 11);
  // The checksum counts its own field as blanks.
  block.fill(" ", 148, 156);
  block.write(of.type, 156, "latin1");
  Buffer.from(of.target).copy(block, 157, 0, NAME_BYTES);
  block.write("ustar  ", 257, "latin1");
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    6,
  );
  block[154] = 0;
  return block;
}
