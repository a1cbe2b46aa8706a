/** Reads a unified diff as git writes it: text hunks, new, deleted, renamed and copied files, modes, binary files. Pure. */
import { readBinary } from "./binary.ts";
import { checkedPath, namesOfHeader, readName, withoutPrefix } from "./paths.ts";
import { type BinaryPart, DiffError, type FilePatch, type Hunk, type HunkLine } from "./types.ts";

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const SUBMODULE = "160000";
const MODES = ["100644", "100755", "100600", "100664", "120000"];

/** The file patches of a diff, in order. Text around them is skipped, as git does. Throws DiffError `syntax`, `path` or `unsupported`. */
export function parseDiff(text: string): FilePatch[] {
  const lines = new Lines(Buffer.from(text, "utf8").toString("latin1"));
  const patches: FilePatch[] = [];
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    if (line.startsWith("diff --git ")) patches.push(readGitPatch(lines));
    else if (line.startsWith("--- ") && lines.peek(1)?.startsWith("+++ ") && HUNK.test(lines.peek(2) ?? ""))
      patches.push(readPlainPatch(lines));
    else if (HUNK.test(line))
      throw new DiffError("syntax", `line ${lines.number}: a hunk that no file's header stands before`);
    else lines.next();
  }
  if (patches.length === 0)
    throw new DiffError("syntax", "expected a diff, found no file's change in the text");
  return patches;
}

/** Lines of latin1 text, split at line feeds only. */
export class Lines {
  private readonly lines: readonly string[];
  private at = 0;

  constructor(text: string) {
    const lines = text.split("\n");
    if (lines.at(-1) === "") lines.pop();
    this.lines = lines;
  }

  /** From 1, of the line that `next` gives. */
  get number(): number {
    return this.at + 1;
  }

  peek(ahead = 0): string | undefined {
    return this.lines[this.at + ahead];
  }

  next(): string | undefined {
    return this.lines[this.at++];
  }
}

interface Header {
  old: string | null | undefined;
  new: string | null | undefined;
  kind: FilePatch["kind"];
  oldMode: string | null;
  newMode: string | null;
  oldBlob: string | null;
  newBlob: string | null;
}

const NOTHING_SAID = { oldMode: null, newMode: null, oldBlob: null, newBlob: null };

function readPlainPatch(lines: Lines): FilePatch {
  const oldPath = withoutPrefix(readName(lines.next()!.slice(4)));
  const newPath = withoutPrefix(readName(lines.next()!.slice(4)));
  const header: Header = {
    old: oldPath,
    new: newPath,
    kind: oldPath === null ? "create" : newPath === null ? "delete" : "modify",
    ...NOTHING_SAID,
  };
  return finish(header, readHunks(lines, newPath ?? oldPath), null);
}

function readGitPatch(lines: Lines): FilePatch {
  const first = lines.number;
  const names = namesOfHeader(lines.next()!.slice("diff --git ".length).replace(/\r$/, ""));
  const header: Header = { old: undefined, new: undefined, kind: "modify", ...NOTHING_SAID };
  let binary: FilePatch["binary"] = null;
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    if (readExtended(line, header)) lines.next();
    else if (line.startsWith("--- ")) {
      header.old = withoutPrefix(readName(lines.next()!.slice(4)));
      if (!lines.peek()?.startsWith("+++ "))
        throw new DiffError("syntax", `line ${lines.number}: expected "+++ " after "--- "`);
      header.new = withoutPrefix(readName(lines.next()!.slice(4)));
      break;
    } else if (line === "GIT binary patch") {
      lines.next();
      const forward = readBinary(lines);
      if (forward === undefined)
        throw new DiffError(
          "syntax",
          `line ${lines.number}: expected "literal" or "delta" of a binary patch`,
        );
      const { oldBlob, newBlob } = header;
      binary = { forward, backward: readBinary(lines) ?? null, oldBlob, newBlob };
      break;
    } else if (/^Binary files .* differ\r?$/.test(line))
      throw new DiffError(
        "unsupported",
        `line ${lines.number}: a binary file's change without its content (made without git diff --binary)`,
      );
    else break;
  }
  if (header.old === undefined && names === undefined)
    throw new DiffError("syntax", `line ${first}: expected two names after diff --git`);
  header.old ??= header.kind === "create" ? null : withoutPrefix(names!.old);
  header.new ??= header.kind === "delete" ? null : withoutPrefix(names!.new);
  return finish(header, binary === null ? readHunks(lines, header.new ?? header.old) : [], binary);
}

/** One line between `diff --git` and the hunks; false where the line is none of them. */
function readExtended(line: string, header: Header): boolean {
  const [, word, value] =
    /^(old mode|new mode|new file mode|deleted file mode|rename from|rename to|copy from|copy to|(?:dis)?similarity index|index) (.*)$/.exec(
      line.replace(/\r$/, ""),
    ) ?? [];
  if (word === undefined || value === undefined) return false;
  if (word === "old mode") header.oldMode = value;
  else if (word === "new mode") header.newMode = value;
  else if (word === "new file mode") Object.assign(header, { kind: "create", newMode: value });
  else if (word === "deleted file mode") Object.assign(header, { kind: "delete", oldMode: value });
  else if (word === "index") readIndex(value, header);
  else if (word.endsWith("from"))
    Object.assign(header, { kind: word.split(" ")[0], old: checkedPath(readName(value)) });
  else if (word.endsWith("to")) header.new = checkedPath(readName(value));
  return true;
}

function readIndex(value: string, header: Header): void {
  const [, oldBlob = "", newBlob = "", mode] = /^([0-9a-f]+)\.\.([0-9a-f]+)(?: (\d{6}))?$/.exec(value) ?? [];
  header.oldMode ??= mode ?? null;
  // A shortened name cannot be compared with content without a search.
  if (oldBlob.length === 40) header.oldBlob = oldBlob;
  if (newBlob.length === 40) header.newBlob = newBlob;
}

function finish(header: Header, hunks: readonly Hunk[], binary: FilePatch["binary"]): FilePatch {
  let { kind } = header;
  if (header.old === null) kind = "create";
  if (header.new === null) kind = "delete";
  const path = header.new ?? header.old;
  if (path == null) throw new DiffError("syntax", "a change that names no file");
  const oldPath = kind === "create" ? path : header.old!;
  const newPath = kind === "delete" ? oldPath : path;
  if (oldPath !== newPath && (kind === "modify" || kind === "create"))
    throw new DiffError("syntax", `expected one name, found ${JSON.stringify(oldPath)}, too`, newPath);
  for (const mode of [header.oldMode, header.newMode])
    if (mode !== null && !MODES.includes(mode))
      throw new DiffError(
        "unsupported",
        mode === SUBMODULE ? "the change of a submodule" : `file mode ${JSON.stringify(mode)}`,
        newPath,
      );
  const { oldMode, newMode } = header;
  return { kind, oldPath, newPath, oldMode, newMode, hunks, binary };
}

function readHunks(lines: Lines, path: string | null | undefined): Hunk[] {
  const hunks: Hunk[] = [];
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    const match = HUNK.exec(line);
    if (match === null) break;
    lines.next();
    const [oldStart, oldCount, newStart, newCount] = [1, 2, 3, 4].map((group) => Number(match[group] ?? 1));
    hunks.push({
      oldStart: oldStart!,
      newStart: newStart!,
      lines: readHunkLines(lines, oldCount!, newCount!, path ?? null, hunks.length + 1),
    });
  }
  return hunks;
}

const KINDS: Readonly<Record<string, HunkLine["kind"]>> = { " ": "context", "+": "add", "-": "remove" };

function readHunkLines(
  lines: Lines,
  oldCount: number,
  newCount: number,
  path: string | null,
  hunk: number,
): HunkLine[] {
  const found: { kind: HunkLine["kind"]; text: string }[] = [];
  let [oldLeft, newLeft] = [oldCount, newCount];
  while (oldLeft > 0 || newLeft > 0 || lines.peek()?.startsWith("\\")) {
    const line = lines.next();
    if (line === undefined)
      throw new DiffError(
        "syntax",
        `cut off: ${oldLeft} old and ${newLeft} new lines are missing`,
        path,
        hunk,
      );
    if (line.startsWith("\\")) {
      const last = found.at(-1);
      if (last === undefined)
        throw new DiffError(
          "syntax",
          `line ${lines.number - 1}: "\\ No newline" stands before any line`,
          path,
          hunk,
        );
      last.text = last.text.replace(/\n$/, "");
      continue;
    }
    // Some editors strip the blank of an empty context line; git reads it so, too.
    const kind = line === "" ? "context" : KINDS[line[0]!];
    if (kind === undefined)
      throw new DiffError(
        "syntax",
        `line ${lines.number - 1}: expected " ", "+", "-" or "\\" at the line's start, found ${JSON.stringify(line[0])}`,
        path,
        hunk,
      );
    found.push({ kind, text: `${line.slice(1)}\n` });
    if (kind !== "add") oldLeft--;
    if (kind !== "remove") newLeft--;
    if (oldLeft < 0 || newLeft < 0)
      throw new DiffError("syntax", "more lines than its header says", path, hunk);
  }
  return found;
}

/** The patches that undo `patches`. Throws DiffError `unsupported` for a copy and for a binary change without its other side. */
export function reverseDiff(patches: readonly FilePatch[]): FilePatch[] {
  return patches.map(reversePatch).reverse();
}

const OPPOSITE = { modify: "modify", rename: "rename", create: "delete", delete: "create" } as const;

function reversePatch(patch: FilePatch): FilePatch {
  if (patch.kind === "copy") throw new DiffError("unsupported", "a copy cannot be reversed", patch.newPath);
  if (patch.binary !== null && patch.binary.backward === null)
    throw new DiffError(
      "unsupported",
      "a binary change without its other side cannot be reversed",
      patch.newPath,
    );
  return {
    kind: OPPOSITE[patch.kind],
    oldPath: patch.newPath,
    newPath: patch.oldPath,
    oldMode: patch.newMode,
    newMode: patch.oldMode,
    hunks: patch.hunks.map(reverseHunk),
    binary:
      patch.binary === null
        ? null
        : {
            forward: patch.binary.backward as BinaryPart,
            backward: patch.binary.forward,
            oldBlob: patch.binary.newBlob,
            newBlob: patch.binary.oldBlob,
          },
  };
}

const OTHER = { context: "context", add: "remove", remove: "add" } as const;

const reverseHunk = ({ oldStart, newStart, lines }: Hunk): Hunk => ({
  oldStart: newStart,
  newStart: oldStart,
  lines: lines.map(({ kind, text }) => ({ kind: OTHER[kind], text })),
});
