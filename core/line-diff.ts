/** Which lines of a text became which: hunks of a shortest edit script. Pure. */

/** Half open, 0-based: lines [from, to) of the text before became lines [start, end) of the text after. Either may be empty. */
export interface LineHunk {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

/** Comparisons beyond which what differs counts as one hunk. */
const MAX_CELLS = 4_000_000;

export function lineHunks(before: string, after: string): readonly LineHunk[] {
  return hunksOf(before.split("\n"), after.split("\n"));
}

function hunksOf(a: readonly string[], b: readonly string[]): readonly LineHunk[] {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [rows, columns] = [a.length - head - tail, b.length - head - tail];
  if (rows === 0 && columns === 0) return [];
  const whole = { from: head, to: head + rows, start: head, end: head + columns };
  if (rows === 0 || columns === 0 || rows * columns > MAX_CELLS) return [whole];
  const hunks: LineHunk[] = [];
  let [from, start] = [head, head];
  const close = (to: number, end: number): void => {
    if (to > from || end > start) hunks.push({ from, to, start, end });
  };
  for (const [i, j] of kept(a.slice(head, head + rows), b.slice(head, head + columns))) {
    close(head + i, head + j);
    [from, start] = [head + i + 1, head + j + 1];
  }
  close(head + rows, head + columns);
  return hunks;
}

/** Pairs of equal lines, of a longest common subsequence, in order. */
function kept(a: readonly string[], b: readonly string[]): readonly (readonly [number, number])[] {
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
  const pairs: (readonly [number, number])[] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!) i++;
    else j++;
  }
  return pairs;
}

/** Lines that the hunks remove and add. */
export function countLines(hunks: readonly LineHunk[]): number {
  return hunks.reduce((sum, { from, to, start, end }) => sum + (to - from) + (end - start), 0);
}
