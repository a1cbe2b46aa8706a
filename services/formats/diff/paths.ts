/** Paths of a diff: git's quoting undone, `a/` and `b/` taken off, and nothing that leaves the tree let through. */
import { DiffError } from "./types.ts";

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  '"': '"',
};

/** The quoted name that `text` begins with, and what follows it; undefined where none does. */
export function readQuoted(text: string): { readonly name: string; readonly rest: string } | undefined {
  const match = /^"((?:[^"\\]|\\(?:[0-3][0-7]{2}|[abfnrtv\\"]))*)"/.exec(text);
  if (match === null) return undefined;
  const name = match[1]!.replace(/\\([0-3][0-7]{2}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : ESCAPES[code]!,
  );
  return { name, rest: text.slice(match[0].length) };
}

/** The name of a `---`, `+++`, `rename` or `copy` line: what a tab and a time follow is cut there. */
export function readName(text: string): string {
  const quoted = readQuoted(text);
  if (quoted !== undefined) return quoted.name;
  const tab = text.indexOf("\t");
  return (tab < 0 ? text : text.slice(0, tab)).replace(/\r$/, "");
}

/** Takes the first folder off (`a/`, `b/`), as `-p1` does; null for /dev/null. */
export function withoutPrefix(name: string): string | null {
  if (name === "/dev/null") return null;
  const slash = name.indexOf("/");
  if (name.startsWith("/")) throw new DiffError("path", `an absolute path: ${shown(name)}`);
  if (slash < 0) throw new DiffError("path", `expected a path below a/ or b/, found ${shown(name)}`);
  return checkedPath(name.slice(slash + 1));
}

/** Both names of a `diff --git` line are the same but for their prefix, where nothing else in the patch names them. */
export function namesOfHeader(header: string): { readonly old: string; readonly new: string } | undefined {
  const first = readQuoted(header);
  if (first !== undefined) {
    const rest = first.rest.slice(1);
    return { old: first.name, new: readQuoted(rest)?.name ?? rest };
  }
  const quoted = header.indexOf(' "');
  if (quoted >= 0) {
    const second = readQuoted(header.slice(quoted + 1));
    if (second !== undefined && second.rest === "") return { old: header.slice(0, quoted), new: second.name };
  }
  // A name may hold blanks: the split is the one that leaves two equal names.
  for (let at = header.indexOf(" "); at >= 0; at = header.indexOf(" ", at + 1)) {
    const [left, right] = [header.slice(0, at), header.slice(at + 1)];
    if (left.slice(left.indexOf("/")) === right.slice(right.indexOf("/")) && left.includes("/"))
      return { old: left, new: right };
  }
  return undefined;
}

/** As a path of the tree, in UTF-16. Throws DiffError `path`. */
export function checkedPath(bytes: string): string {
  const path = Buffer.from(bytes, "latin1").toString("utf8");
  const parts = path.split("/");
  if (path.startsWith("/")) throw new DiffError("path", `an absolute path: ${shown(bytes)}`);
  if (path.includes("\0") || parts.some((part) => part === "" || part === "." || part === ".."))
    throw new DiffError("path", `not a path inside the tree: ${shown(bytes)}`);
  if (parts.some((part) => part.toLowerCase() === ".git"))
    throw new DiffError("path", `a path of git's own files: ${shown(bytes)}`);
  if (path.includes("\ufffd")) throw new DiffError("path", `a path that is no UTF-8: ${shown(bytes)}`);
  return path;
}

export const shown = (bytes: string): string => JSON.stringify(Buffer.from(bytes, "latin1").toString("utf8"));
