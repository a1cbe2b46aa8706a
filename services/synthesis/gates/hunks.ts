/** Hunks of a change: runs of lines that two texts of a file do not share. Pure. */

export interface Hunk {
  readonly path: string;
  /** Lines [start, end) of the old text, from 0, and what stands in their place. */
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
}

/** Beyond so many cells of the table of common lines, what lies between the equal ends is one hunk. */
const MAX_CELLS = 4_000_000;

/** By a longest common subsequence of lines; of several, the one that keeps the old text's earliest lines. */
export function hunksOf(path: string, before: string, after: string): Hunk[] {
  const old = before.split("\n");
  const now = after.split("\n");
  let head = 0;
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const a = old.slice(head, old.length - tail);
  const b = now.slice(head, now.length - tail);
  if (a.length === 0 && b.length === 0) return [];
  if (a.length * b.length > MAX_CELLS) return [{ path, start: head, end: head + a.length, lines: b }];
  const common = commonLengths(a, b);
  const hunks: Hunk[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const [from, lines] = [i, [] as string[]];
    while ((i < a.length || j < b.length) && !(i < a.length && j < b.length && a[i] === b[j])) {
      if (j >= b.length || (i < a.length && common[i + 1]![j]! >= common[i]![j + 1]!)) i++;
      else lines.push(b[j++]!);
    }
    if (i > from || lines.length > 0) hunks.push({ path, start: head + from, end: head + i, lines });
    i++;
    j++;
  }
  return hunks;
}

/** Length of the longest common subsequence of what follows, for each pair of positions. */
function commonLengths(a: readonly string[], b: readonly string[]): Uint32Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i]![j] =
        a[i] === b[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
  return table;
}

export function applyHunks(before: string, hunks: readonly Hunk[]): string {
  const lines = before.split("\n");
  for (const { start, end, lines: now } of [...hunks].sort((x, y) => y.start - x.start))
    lines.splice(start, end - start, ...now);
  return lines.join("\n");
}

const COMMENT = /^\s*(?:\/\/|\/\*|\*|#(?!!)|$)/;
const CODE = /\.(?:[cm]?[jt]sx?|py|go|rs)$/;
const squeezed = (lines: readonly string[]): string => lines.join("").replace(/\s+/g, "");

export const isCode = (line: string): boolean => !COMMENT.test(line);

/** False for documentation, comments and white space: no test can tell whether it is there. In Python, white space is code. */
export function isObservable(before: string, { path, start, end, lines }: Hunk): boolean {
  if (!CODE.test(path)) return false;
  const gone = before.split("\n").slice(start, end);
  if ([...gone, ...lines].every((line) => !isCode(line))) return false;
  return path.endsWith(".py") || squeezed(gone) !== squeezed(lines);
}
