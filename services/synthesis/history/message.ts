/** What a commit's message says it does: by its labels, else by its first words. Pure. */

export type Intent = "fix" | "feature" | "refactor" | "performance";

const LABELS: readonly (readonly [Intent, RegExp])[] = [
  ["performance", /^(perf|performance|speed|optimi[sz]ation)$/i],
  ["refactor", /^(refactor(ing)?|cleanup|internal)$/i],
  ["feature", /^(feat|feature|new|add(ed)?|minor|enhancement)$/i],
  ["fix", /^(fix(es|ed)?|bug|bugfix|patch|robustness|security|hotfix|breaking)$/i],
];

const WORDS: readonly (readonly [Intent, RegExp])[] = [
  ["performance", /\b(faster|performance|speed(s|ed)? ?up|optimi[sz]e[sd]?|perf)\b/i],
  [
    "refactor",
    /\b(refactor\w*|restructur\w*|reorgani[sz]\w*|clean(s|ed)? ?up|simplif\w+|extract\w*|dedup\w*|tid(y|ies|ied))\b/i,
  ],
  ["feature", /^(add|allow|support|implement|introduce|provide|new)\w*\b/i],
  ["fix", /\b(fix\w*|bug|crash\w*|wrong\w*|incorrect\w*|broken?|regression)\b/i],
];

/** Work on a project that its users do not see. */
const CHORES =
  /^(dev ?deps?|deps?|tests?|meta|actions?|docs?|readme|eslint|lint|ci|build|chore|style|types?|refs?|dist|example|bench\w*)$/i;

const ITEM = /^\s*(?:[-*+•]|\d+[.)])\s+/;
const LABEL = /^(?:\[([^\]]+)\](?!\()|\*\*\[?([^\]*]+)\]?:?\*\*|(\w+)(?:\([^)]*\))?!?:)\s*/;

export interface Line {
  /** Without its bullet and its label. */
  readonly text: string;
  readonly label: string | null;
}

/** Lines of the message, a bullet's continuation with it, in their order. */
export function linesOf(message: string): Line[] {
  const joined: string[] = [];
  for (const line of message.split(/\r?\n/)) {
    const isContinued =
      /^\s{2,}\S/.test(line) && !ITEM.test(line) && joined.at(-1) !== "" && joined.length > 0;
    if (isContinued) joined[joined.length - 1] += ` ${line.trim()}`;
    else joined.push(line.trim());
  }
  return joined.map((line) => {
    const bare = line.replace(ITEM, "");
    const match = LABEL.exec(bare);
    const label = match === null ? null : (match[1] ?? match[2] ?? match[3] ?? "").trim();
    const isKnown =
      label !== null && (CHORES.test(label) || LABELS.some(([, pattern]) => pattern.test(label)));
    return isKnown ? { text: bare.slice(match![0].length), label } : { text: bare, label: null };
  });
}

export const isChore = ({ label }: Line): boolean => label !== null && CHORES.test(label);

/** Everything that labels say; where none says anything, what the subject's words say. */
export function intentsOf(message: string): ReadonlySet<Intent> {
  const lines = linesOf(message);
  const labelled = lines.flatMap(({ label }) =>
    LABELS.filter(([, pattern]) => label !== null && pattern.test(label)).map(([intent]) => intent),
  );
  if (labelled.length > 0) return new Set(labelled);
  // A release is headed by its version.
  const subject = lines.find((line) => /\p{L}{3}/u.test(line.text) && !isChore(line))?.text ?? "";
  return new Set(WORDS.filter(([, pattern]) => pattern.test(subject)).map(([intent]) => intent));
}

export function isRevert(message: string): boolean {
  return /^revert\b/i.test(message) || /^this reverts commit\b/im.test(message);
}

/** Commits that a revert takes back, by the hashes it names. */
export function revertedBy(message: string): string[] {
  return [...message.matchAll(/this reverts commit ([0-9a-f]{7,40})/gi)].map(([, sha]) => sha!);
}
