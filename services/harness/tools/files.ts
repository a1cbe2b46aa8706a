/** Paths and files of the working tree as Leaf's tools see them, with Python's error texts. */
import { posix } from "node:path";
import { type Sandbox, SandboxError } from "../../sandbox/runtime.ts";
import {
  type Arguments,
  decodeText,
  encodeUtf8,
  isTruthy,
  reprString,
  ToolError,
  toText,
  universalNewlines,
} from "./python.ts";

/** What Read and Edit take in at most: a sparse file costs its writer nothing and would cost the reader its memory. */
const MAX_FILE_BYTES = 32 * 2 ** 20;

const OS_ERRORS: Readonly<Record<string, readonly [pythonName: string, errno: number, text: string]>> = {
  EPERM: ["PermissionError", 1, "Operation not permitted"],
  ENOENT: ["FileNotFoundError", 2, "No such file or directory"],
  EACCES: ["PermissionError", 13, "Permission denied"],
  EEXIST: ["FileExistsError", 17, "File exists"],
  ENOTDIR: ["NotADirectoryError", 20, "Not a directory"],
  EISDIR: ["IsADirectoryError", 21, "Is a directory"],
  EINVAL: ["OSError", 22, "Invalid argument"],
  ETXTBSY: ["OSError", 26, "Text file busy"],
  EFBIG: ["OSError", 27, "File too large"],
  ENOSPC: ["OSError", 28, "No space left on device"],
  EROFS: ["OSError", 30, "Read-only file system"],
  ENAMETOOLONG: ["OSError", 36, "File name too long"],
  ELOOP: ["OSError", 40, "Too many levels of symbolic links"],
  EDQUOT: ["OSError", 122, "Disk quota exceeded"],
};

function osError(code: string, path: string): ToolError {
  const [pythonName, errno, text] = OS_ERRORS[code]!;
  return new ToolError(pythonName, `[Errno ${errno}] ${text}: ${reprString(path)}`);
}

/** Turns what the agent's own path caused into text for it; anything else (the sandbox, the host) goes on as it is. */
async function asAgentError<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof SandboxError) throw error.kind === "path" ? osError("EACCES", path) : error;
    const code = (error as { code?: unknown } | null)?.code;
    throw typeof code === "string" && Object.hasOwn(OS_ERRORS, code) ? osError(code, path) : error;
  }
}

/** `str(Path(text))` for an absolute or tree-relative text: `.` and empty parts go, `..` stays. */
export function resolvePath(workdir: string, text: string): string {
  if (text.includes("\0")) throw new ToolError("ValueError", "embedded null byte");
  encodeUtf8(text);
  const full = text.startsWith("/") ? text : `${workdir}/${text}`;
  return `/${full
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;
}

/** The path an argument names. `path` is accepted for every key, as in Leaf. */
export function pathArgument(workdir: string, args: Arguments, key: string): string {
  const value = isTruthy(args[key]) ? args[key] : args.path;
  if (!isTruthy(value)) throw new ToolError("ValueError", `${key} is required`);
  return resolvePath(workdir, toText(value));
}

/** Relative to the working tree inside it, as given outside. */
export function displayPath(workdir: string, path: string): string {
  const normal = posix.normalize(path);
  if (normal === workdir) return ".";
  return normal.startsWith(`${workdir}/`) ? normal.slice(workdir.length + 1) : path;
}

/** A file's text as Python's text mode reads it. */
export async function readText(sandbox: Sandbox, path: string): Promise<string> {
  const bytes = await asAgentError(path, async () => {
    const stat = await sandbox.stat(path);
    if (stat?.type === "directory") throw osError("EISDIR", path);
    if (stat?.type === "other") throw osError("EINVAL", path);
    if (stat && stat.bytes > MAX_FILE_BYTES)
      throw new ToolError("MemoryError", `the file has more than ${MAX_FILE_BYTES} bytes`);
    return sandbox.read(path);
  });
  return universalNewlines(decodeText(bytes));
}

export async function writeText(sandbox: Sandbox, path: string, text: string): Promise<void> {
  const bytes = encodeUtf8(text);
  await asAgentError(path, () => sandbox.write(path, bytes));
}

/** True for a regular file, also behind a symlink; false for anything that cannot be looked at. */
export async function isFile(sandbox: Sandbox, path: string): Promise<boolean> {
  try {
    return (await asAgentError(path, () => sandbox.stat(path)))?.type === "file";
  } catch (error) {
    if (error instanceof ToolError) return false;
    throw error;
  }
}

/** Files (and symlinks) below a folder with paths from `/`; empty where there is no such folder. */
export async function listFiles(
  sandbox: Sandbox,
  folder: string,
): Promise<readonly { readonly path: string; readonly symlink: boolean }[]> {
  try {
    const entries = await asAgentError(folder, () => sandbox.list(folder));
    return entries
      .filter((entry) => entry.type !== "directory")
      .map((entry) => ({
        path: resolvePath(sandbox.workdir, entry.path),
        symlink: entry.type === "symlink",
      }));
  } catch (error) {
    if (error instanceof ToolError) return [];
    throw error;
  }
}
