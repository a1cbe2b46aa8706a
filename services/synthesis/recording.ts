/**
 * Recordings: which calls of the package came before which assertion, on the tree that works. They cost one run per test file and
 * serve every task of the environment, whose solved tree is that same tree.
 */

export interface RecordedCall {
  /** In the dialect of its recorder, relative to the repository's root: `require("./")(["-x"])`. */
  readonly code: string;
  /** What the reproduction prints for it; null = it raised, and the recorder cannot tell how that is printed. */
  readonly printed: string | null;
}

/** A call and what it prints alone. */
export type SettledCall = RecordedCall & { readonly printed: string };

/** Calls that each test looks at, by its name in the report; under tape those of each assertion. */
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

/** The notes' calls by test; `scope` stands before the names of its command's tests. */
export function readTestNotes(notes: string, scope: string): Recording {
  const recording = new Map<string, readonly RecordedCall[]>();
  for (const line of notes.split("\n").filter((text) => text.endsWith("}"))) {
    const note = JSON.parse(line) as { test: string; calls: readonly RecordedCall[] };
    const name = scope === "" ? note.test : `${scope} > ${note.test}`;
    recording.set(name, [...(recording.get(name) ?? []), ...note.calls]);
  }
  return recording;
}

/** The calls that print the same alone as they gave in the test, with what they print. */
export function settled(
  recording: Recording,
  alone: ReadonlyMap<string, string | undefined>,
): ReadonlyMap<string, readonly SettledCall[]> {
  const settle = ({ code, printed }: RecordedCall): SettledCall[] => {
    const own = alone.get(code);
    return own !== undefined && (printed === null || printed === own) ? [{ code, printed: own }] : [];
  };
  return new Map([...recording].map(([key, calls]) => [key, calls.flatMap(settle)]));
}

/** A recording with the calls that `keep` accepts. */
function filtered(recording: Recording, keep: (call: RecordedCall) => boolean): Recording {
  return new Map([...recording].map(([key, calls]) => [key, calls.filter(keep)]));
}

/** What two recordings of one test file agree on: a test that draws its inputs at random must not decide a statement. */
export function agreeing(first: Recording, second: Recording): Recording {
  const again = new Set([...second.values()].flat().map(({ code, printed }) => `${code}\n${printed}`));
  return filtered(first, ({ code, printed }) => again.has(`${code}\n${printed}`));
}
