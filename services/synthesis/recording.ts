/**
 * Recordings: which calls of the package came before which assertion, on the tree that works. They cost one run per test file and
 * serve every task of the environment, whose solved tree is that same tree.
 */

export interface RecordedCall {
  /** A JavaScript expression, relative to the repository's root: `require("./")(["-x"])`. */
  readonly code: string;
  /** What the reproduction prints for it. */
  readonly printed: string;
}

/** Calls that each assertion looks at, by its key `<test file> > <test name> > <assertion>#<ordinal>`. */
export type Recording = ReadonlyMap<string, readonly RecordedCall[]>;

/** The notes' calls by assertion key. `keys` are those of the run's report, in its order. */
export function readNotes(notes: string, keys: readonly string[]): Recording {
  const recording = new Map<string, readonly RecordedCall[]>();
  let calls: readonly RecordedCall[] = [];
  for (const line of notes.split("\n").filter((text) => text.endsWith("}"))) {
    const note = JSON.parse(line) as { assert: number; calls: readonly RecordedCall[] | "same" };
    if (note.calls !== "same") calls = note.calls;
    const key = keys[note.assert - 1];
    if (key !== undefined) recording.set(key, calls);
  }
  return recording;
}

/** A recording with the calls that `keep` accepts. */
export function filtered(recording: Recording, keep: (call: RecordedCall) => boolean): Recording {
  return new Map([...recording].map(([key, calls]) => [key, calls.filter(keep)]));
}

/** What two recordings of one test file agree on: a test that draws its inputs at random must not decide a statement. */
export function agreeing(first: Recording, second: Recording): Recording {
  const again = new Set([...second.values()].flat().map(({ code, printed }) => `${code}\n${printed}`));
  return filtered(first, ({ code, printed }) => again.has(`${code}\n${printed}`));
}
