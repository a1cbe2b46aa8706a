/** Edits inside a regular-expression literal: anchors, flags, quantifiers, classes. Each is undone by another of them. */

export interface PatternEdit {
  /** Offsets into the literal. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

const OPPOSITE: Readonly<Record<string, string>> = { d: "D", D: "d", s: "S", S: "s", w: "W", W: "w" };

function flagEdits(patternEnd: number, flags: string): PatternEdit[] {
  const base = patternEnd + 1;
  // An inserted flag goes where sorting puts it; only a sorted list makes removal and insertion inverse.
  if ([...flags].sort().join("") !== flags) return [];
  return ["g", "i"].map((flag) => {
    const at = flags.indexOf(flag);
    if (at >= 0) return { start: base + at, end: base + at + 1, replacement: "" };
    const before = [...flags].filter((other) => other < flag).length;
    return { start: base + before, end: base + before, replacement: flag };
  });
}

/** Ends with a `$` that no backslash escapes. */
function endsAnchored(pattern: string): boolean {
  return /(?:^|[^\\])(?:\\\\)*\$$/.test(pattern);
}

/** `literal` is the source of the whole literal, `/pattern/flags`. */
export function regularExpressionEdits(literal: string): PatternEdit[] {
  const patternEnd = literal.lastIndexOf("/");
  const flags = literal.slice(patternEnd + 1);
  // The v flag has set operations and nested classes.
  if (flags.includes("v")) return [];
  const edits = flagEdits(patternEnd, flags);
  const pattern = literal.slice(1, patternEnd);
  let inClass = false;
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i]!;
    const at = i + 1;
    if (character === "\\") {
      const opposite = OPPOSITE[pattern[i + 1] ?? ""];
      if (opposite !== undefined) edits.push({ start: at + 1, end: at + 2, replacement: opposite });
      i++;
    } else if (inClass) {
      if (character === "]") inClass = false;
    } else if (character === "[") {
      inClass = true;
      if (pattern[i + 1] !== "^") edits.push({ start: at + 1, end: at + 1, replacement: "^" });
      else if (pattern[i + 2] !== "^") edits.push({ start: at + 1, end: at + 2, replacement: "" });
    } else if (character === "+" || character === "*") {
      edits.push({ start: at, end: at + 1, replacement: character === "+" ? "*" : "+" });
    }
  }
  // Without its only character a literal would be a comment.
  if (!pattern.startsWith("^")) edits.push({ start: 1, end: 1, replacement: "^" });
  else if (pattern.length > 1 && pattern[1] !== "^") edits.push({ start: 1, end: 2, replacement: "" });
  if (!endsAnchored(pattern)) edits.push({ start: patternEnd, end: patternEnd, replacement: "$" });
  else if (pattern.length > 1 && !endsAnchored(pattern.slice(0, -1)))
    edits.push({ start: patternEnd - 1, end: patternEnd, replacement: "" });
  return edits;
}
