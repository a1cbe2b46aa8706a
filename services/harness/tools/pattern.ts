/**
 * Python's `glob` patterns: `*`, `?` and `[…]` within a name, `**` as a whole part for any depth, and no match of a name that begins
 * with a dot unless the pattern does. Matching takes time linear in name × pattern: the patterns come from a model.
 */

type Piece =
  | { readonly kind: "star" }
  | { readonly kind: "any" }
  | { readonly kind: "char"; readonly char: string }
  | { readonly kind: "class"; readonly negated: boolean; readonly ranges: readonly [string, string][] };

export function hasMagic(part: string): boolean {
  return /[*?[]/.test(part);
}

function classPiece(body: string): Piece {
  const negated = body.startsWith("!");
  const chars = [...(negated ? body.slice(1) : body)];
  const ranges: [string, string][] = [];
  for (let i = 0; i < chars.length; i++) {
    if (chars[i + 1] === "-" && i + 2 < chars.length) {
      ranges.push([chars[i]!, chars[i + 2]!]);
      i += 2;
    } else ranges.push([chars[i]!, chars[i]!]);
  }
  return { kind: "class", negated, ranges };
}

function compile(part: string): Piece[] {
  const chars = [...part];
  const pieces: Piece[] = [];
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i]!;
    if (char === "*") {
      if (pieces.at(-1)?.kind !== "star") pieces.push({ kind: "star" });
    } else if (char === "?") pieces.push({ kind: "any" });
    else if (char === "[") {
      // A `]` right after `[` or `[!` belongs to the class; without a closing one `[` is a plain character.
      const first = chars[i + 1] === "!" ? i + 2 : i + 1;
      const end = chars.indexOf("]", first + 1);
      if (end < 0) pieces.push({ kind: "char", char });
      else {
        pieces.push(classPiece(chars.slice(i + 1, end).join("")));
        i = end;
      }
    } else pieces.push({ kind: "char", char });
  }
  return pieces;
}

function accepts(piece: Piece, char: string): boolean {
  if (piece.kind === "char") return piece.char === char;
  if (piece.kind !== "class") return true;
  const code = char.codePointAt(0)!;
  return (
    piece.negated !==
    piece.ranges.some(([low, high]) => low.codePointAt(0)! <= code && code <= high.codePointAt(0)!)
  );
}

function matchesName(pieces: readonly Piece[], name: readonly string[]): boolean {
  let at = 0;
  let piece = 0;
  let star = -1;
  let resume = 0;
  while (at < name.length) {
    const current = pieces[piece];
    if (current && current.kind !== "star" && accepts(current, name[at]!)) {
      at++;
      piece++;
    } else if (current?.kind === "star") {
      star = piece++;
      resume = at;
    } else if (star >= 0) {
      piece = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pieces[piece]?.kind === "star") piece++;
  return piece === pieces.length;
}

/** A matcher of file paths, given as their parts, against a pattern's parts. */
export function globMatcher(pattern: readonly string[]): (path: readonly string[]) => boolean {
  const parts = pattern.map((part) => ({
    recursive: part === "**",
    hidden: part.startsWith("."),
    literal: hasMagic(part) ? null : part,
    pieces: compile(part),
  }));
  const matchesPart = (part: (typeof parts)[number], name: string): boolean => {
    if (part.literal !== null) return part.literal === name;
    if (name.startsWith(".") && !part.hidden) return false;
    return matchesName(part.pieces, [...name]);
  };
  return (path) => {
    // reachable[j]: pattern parts before j match the path's parts so far.
    let reachable = parts.map((_, j) => parts.slice(0, j).every((part) => part.recursive));
    reachable.push(parts.every((part) => part.recursive));
    for (const name of path) {
      const next = new Array<boolean>(parts.length + 1).fill(false);
      for (const [j, part] of parts.entries()) {
        if (part.recursive) {
          if (reachable[j] && !name.startsWith(".")) next[j] = true;
          if (next[j]) next[j + 1] = true;
        } else if (reachable[j] && matchesPart(part, name)) next[j + 1] = true;
        if (next[j + 1]) for (let k = j + 1; parts[k]?.recursive; k++) next[k + 1] = true;
      }
      reachable = next;
    }
    return reachable[parts.length]!;
  };
}
