/** The file calls of a sandbox, made by small scripts inside it. No command of the sandbox runs meanwhile. */
import { MAX_READ_BYTES, relativeTo } from "../inside.ts";
import type { FileEntry } from "../runtime.ts";
import { PosixError } from "../tree/resolve.ts";

export interface ShellResult {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly truncated: boolean;
}

/** Runs a script of ours in the working tree: `$1`… are the arguments. */
export type Shell = (
  script: string,
  args: readonly string[],
  options?: { readonly input?: readonly Uint8Array[]; readonly outputBytes?: number },
) => Promise<ShellResult>;

/** Scripts end with these where no program's words tell: Linux's numbers. */
const ERRNO: Readonly<Record<number, string>> = {
  20: "ENOTDIR",
  21: "EISDIR",
  22: "EINVAL",
  27: "EFBIG",
  28: "ENOSPC",
  30: "EROFS",
};

/** What programs say, in glibc's words and in musl's. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/No such file|nonexistent/i, "ENOENT"],
  // `mkdir -p` through a file.
  [/Not a directory|File exists/i, "ENOTDIR"],
  [/Is a directory/i, "EISDIR"],
  [/symbolic links|Symbolic link loop/i, "ELOOP"],
  [/Read-only file system/i, "EROFS"],
  [/No space left/i, "ENOSPC"],
  [/Permission denied/i, "EACCES"],
  [/File name too long|Filename too long/i, "ENAMETOOLONG"],
];

function posixErrorOf({ code, stderr }: ShellResult, path: string): PosixError {
  const word = ERRNO[code] ?? WORDS.find(([words]) => words.test(stderr))?.[1] ?? "EIO";
  return new PosixError(word, path);
}

function checked(path: string): string {
  if (path.includes("\0")) throw new PosixError("EINVAL", JSON.stringify(path));
  // Programs take `-` for their standard input.
  return path === "" ? "." : path === "-" ? "./-" : path;
}

const READ = `
[ ! -d "$1" ] || exit 21
if [ -f "$1" ]; then
  [ "$(stat -L -c %s -- "$1")" -le "$2" ] || exit 27
  exec cat -- "$1"
fi
[ ! -e "$1" ] || exit 22
cat -- "$1"`;

export async function readInside(shell: Shell, path: string): Promise<Buffer> {
  const result = await shell(READ, [checked(path), String(MAX_READ_BYTES)], { outputBytes: MAX_READ_BYTES });
  if (result.code !== 0) throw posixErrorOf(result, path);
  return result.stdout;
}

/** Room is asked for first: a file that does not fit is not begun. The input is always read to its end. */
const WRITE = `
refuse() { cat >/dev/null; exit "$1"; }
target=$(realpath -m -- "$1" && echo x) || refuse 1
target=\${target%??} bytes=$2
shift 2
[ ! -d "$target" ] || refuse 21
[ ! -e "$target" ] || [ -f "$target" ] || refuse 22
inside=
for folder; do case $target in "$folder"/*) inside=1 ;; esac; done
[ -n "$inside" ] || refuse 30
folder=\${target%/*}
mkdir -p -- "$folder/" || refuse 1
set -- $(stat -f -c "%a %S" -- "$folder")
[ "$bytes" -le $(($1 * $2)) ] || refuse 28
cat >"$target" || refuse 1`;

/** `writable` are the folders in which files may be made; absolute. */
export async function writeInside(
  shell: Shell,
  path: string,
  bytes: Uint8Array,
  writable: readonly string[],
): Promise<void> {
  const target = checked(path);
  if (target.endsWith("/")) throw new PosixError("EISDIR", path);
  const result = await shell(WRITE, [target, String(bytes.length), ...writable], { input: [bytes] });
  if (result.code !== 0) throw posixErrorOf(result, path);
}

const LIST = `
folder=$(realpath -e -- "$1" && echo x) || exit 1
folder=\${folder%??}
[ -d "$folder" ] || exit 20
exec find "$folder" -xdev -mindepth 1 -printf '%y %p\\0'`;

/** Mount points below `path` are listed and not looked into. */
export async function listInside(shell: Shell, path: string, workdir: string): Promise<FileEntry[]> {
  const result = await shell(LIST, [checked(path)]);
  if (result.code !== 0 && result.stdout.length === 0) throw posixErrorOf(result, path);
  const types: Record<string, FileEntry["type"]> = { f: "file", d: "directory", l: "symlink" };
  return utf8Fields(result.stdout).flatMap((line) => {
    const type = types[line?.[0] ?? ""];
    return type === undefined ? [] : [{ path: relativeTo(workdir, line!.slice(2)), type }];
  });
}

export async function statInside(shell: Shell, path: string) {
  const result = await shell('exec stat -L -c "%s %F" -- "$1"', [checked(path)]);
  if (result.code !== 0) return null;
  const [, bytes, kind] = /^(\d+) (.*)/.exec(result.stdout.toString("utf8")) ?? [];
  const type = kind?.startsWith("regular") ? "file" : kind === "directory" ? "directory" : "other";
  return { type, bytes: Number(bytes) } as const;
}

/** Fields that end with NUL; undefined for one that is not UTF-8. */
export function utf8Fields(bytes: Buffer): (string | undefined)[] {
  const fields: (string | undefined)[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0, at);
    if (end < 0) break;
    const raw = bytes.subarray(at, end);
    const text = raw.toString("utf8");
    fields.push(Buffer.from(text, "utf8").equals(raw) ? text : undefined);
    at = end + 1;
  }
  return fields;
}
