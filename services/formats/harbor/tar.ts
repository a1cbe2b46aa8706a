/** Files as a tar archive (POSIX ustar, pax headers for what does not fit): equal files, equal bytes. Pure. */
import type { FileChange } from "../../../core/task.ts";

const BLOCK = 512;
const NAME_BYTES = 100;
const TYPE = { file: "0", link: "2", pax: "x" } as const;

interface Entry {
  readonly path: string;
  readonly type: (typeof TYPE)[keyof typeof TYPE];
  readonly mode: number;
  readonly target: string;
  readonly bytes: Uint8Array;
}

/** Parents need no entries of their own. Deletions are no part of an archive. */
export function tarOf(files: readonly FileChange[]): Uint8Array {
  const blocks: Uint8Array[] = [];
  for (const file of files) {
    if (file.kind === "delete") continue;
    const entry = entryOf(file);
    const pax = paxOf(entry);
    if (pax !== null) blocks.push(...entryBlocks(pax));
    blocks.push(...entryBlocks(entry));
  }
  blocks.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(blocks);
}

function entryOf(file: Exclude<FileChange, { kind: "delete" }>): Entry {
  if (file.kind === "symlink")
    return { path: file.path, type: TYPE.link, mode: 0o777, target: file.target, bytes: new Uint8Array() };
  return {
    path: file.path,
    type: TYPE.file,
    mode: file.executable === true ? 0o755 : 0o644,
    target: "",
    bytes: Buffer.from(file.content, file.encoding),
  };
}

/** Names that are long or no ASCII stand in a header before the entry. */
function paxOf({ path, target }: Entry): Entry | null {
  const fits = (text: string) => /^[\x20-\x7e]*$/.test(text) && text.length <= NAME_BYTES;
  const records = [
    fits(path) ? "" : paxRecord("path", path),
    fits(target) ? "" : paxRecord("linkpath", target),
  ];
  const text = records.join("");
  if (text === "") return null;
  return { path: "PaxHeader", type: TYPE.pax, mode: 0o644, target: "", bytes: Buffer.from(text) };
}

/** `<length> key=value\n`, where the length counts itself. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const bytes = Buffer.byteLength(rest);
  let length = bytes + String(bytes).length;
  if (String(length).length + bytes !== length) length = String(length).length + bytes;
  return `${length}${rest}`;
}

function entryBlocks({ path, type, mode, target, bytes }: Entry): Uint8Array[] {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, width: number) =>
    header.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at, "ascii");
  header.write(path, 0, NAME_BYTES, "utf8");
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes.byteLength, 124, 12);
  octal(0, 136, 12);
  header.fill(" ", 148, 156);
  header.write(type, 156, "ascii");
  header.write(target, 157, NAME_BYTES, "utf8");
  header.write("ustar\x0000", 257, "latin1");
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "ascii");
  const padding = (BLOCK - (bytes.byteLength % BLOCK)) % BLOCK;
  return [header, bytes, new Uint8Array(padding)];
}
