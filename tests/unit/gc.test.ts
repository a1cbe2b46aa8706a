/** What garbage collection chooses, and how a file leaves its folder. The record's side is in tests/integration/store-gc.test.ts. */
import { mkdtemp, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { reportLines } from "../../apps/cli/commands/gc.ts";
import { bringBack, listArtifacts, removeTakenOut, takeOut } from "../../services/store/artifact-folder.ts";
import type { GcReport } from "../../services/store/gc.ts";
import { textsIn } from "../../services/store/gc-names.ts";
import {
  chooseFiles,
  type Edges,
  expiredExperiments,
  type Node,
  reachable,
  unnamed,
} from "../../services/store/gc-select.ts";
import { type ArtifactStore, createLocalArtifacts, sha256Of } from "../../services/store/index.ts";

const experiment = (index: number): Node => `experiment/e${index}`;
const NODES: readonly Node[] = [0, 1, 2, 3, 4].flatMap((index): Node[] => [
  experiment(index),
  `policy/p${index}`,
  `task/t${index}`,
  `set/s${index}`,
  `artifact/${String(index).repeat(64)}`,
]);
const node = fc.constantFrom(...NODES);
const edges: fc.Arbitrary<Edges> = fc
  .array(fc.tuple(node, node), { maxLength: 40 })
  .map(
    (pairs) =>
      new Map(NODES.map((from) => [from, new Set(pairs.filter(([a]) => a === from).map(([, b]) => b))])),
  );
const roots = fc.uniqueArray(node, { maxLength: 5 });
const TIMES = { min: 0, max: 100 };

/** Whether a path of names leads from one to the other: by walking back, unlike `reachable`. */
function leads(from: Node, to: Node, all: Edges, seen: ReadonlySet<Node> = new Set()): boolean {
  if (from === to) return true;
  return [...all].some(
    ([a, names]) => names.has(to) && !seen.has(a) && leads(from, a, all, new Set([...seen, to])),
  );
}

describe("what is named", () => {
  it("is everything that a path leads to, and nothing else", () => {
    fc.assert(
      fc.property(edges, roots, (all, from) => {
        const found = reachable(all, from);
        for (const candidate of NODES)
          expect(found.has(candidate)).toBe(from.some((root) => leads(root, candidate, all)));
      }),
      { numRuns: 60 },
    );
  });

  it("holds every text of a document, however deep", () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.string(),
        fc.array(fc.constantFrom("list", "field"), { maxLength: 6 }),
        (json, text, path) => {
          const around = JSON.parse(json) as unknown;
          const value = path.reduce<unknown>(
            (inner, how) => (how === "list" ? [around, inner] : { around, inner }),
            text,
          );
          expect([...textsIn(value)]).toContain(text);
        },
      ),
    );
    expect([...textsIn({ id: null, number: 1, list: ["a", { b: "c" }] })]).toEqual(
      expect.arrayContaining(["a", "b", "c"]),
    );
  });
});

const ages = fc
  .array(fc.option(fc.integer(TIMES), { nil: null }), { minLength: 5, maxLength: 5 })
  .map((ended) => ended.map((endedMs, index) => ({ name: `e${index}`, endedMs })));
const pinned = fc
  .uniqueArray(fc.constantFrom("e0", "e1", "e2"), { maxLength: 2 })
  .map((names) => new Set<string>(names));

describe("experiments that go", () => {
  it("are old, ended, pinned by nothing, and needed by none that stays; all such go", () => {
    fc.assert(
      fc.property(ages, edges, pinned, fc.integer(TIMES), (experiments, all, fixed, beforeMs) => {
        const gone = new Set(expiredExperiments(experiments, all, { beforeMs, pinned: fixed }));
        const kept = experiments.filter(({ name }) => !gone.has(name));
        for (const { name, endedMs } of experiments) {
          const old = endedMs !== null && endedMs < beforeMs && !fixed.has(name);
          const needed = kept.some(
            (other) =>
              other.name !== name && leads(experiment(Number(other.name[1])), `experiment/${name}`, all),
          );
          expect(gone.has(name)).toBe(old && !needed);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("go together where they name one another only", () => {
    const ring: Edges = new Map([
      [experiment(0), new Set([experiment(1)])],
      [experiment(1), new Set([experiment(0)])],
      [experiment(2), new Set<Node>()],
    ]);
    const experiments = [0, 1, 2].map((index) => ({ name: `e${index}`, endedMs: 1 }));
    expect(expiredExperiments(experiments, ring, { beforeMs: 5, pinned: new Set() })).toEqual([
      "e0",
      "e1",
      "e2",
    ]);
    expect(expiredExperiments(experiments, ring, { beforeMs: 5, pinned: new Set(["e1"]) })).toEqual(["e2"]);
  });
});

describe("shared things and files that go", () => {
  const shared = fc.dictionary(
    fc.constantFrom("policy/p0", "policy/p1", "task/t0", "set/s0"),
    fc.integer(TIMES),
  );

  it("are never named by a root, nor young; what one more root names stays besides", () => {
    fc.assert(
      fc.property(shared, edges, roots, node, fc.integer(TIMES), (times, all, from, more, beforeMs) => {
        const things = new Map(Object.entries(times) as [Node, number][]);
        const gone = unnamed(things, reachable(all, from), beforeMs);
        for (const [thing, at] of things)
          expect(gone.includes(thing)).toBe(at < beforeMs && !from.some((root) => leads(root, thing, all)));
        const fewer = unnamed(things, reachable(all, [...from, more]), beforeMs);
        expect(fewer.every((thing) => gone.includes(thing) && thing !== more)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it("are each chosen once: named ones stay, young ones wait, unknown ones are left", () => {
    const file = fc.record({ digit: fc.integer({ min: 0, max: 6 }), modifiedMs: fc.integer(TIMES) });
    fc.assert(
      fc.property(
        fc.uniqueArray(file, { selector: ({ digit }) => digit }),
        fc.uniqueArray(fc.integer({ min: 0, max: 6 })),
        edges,
        roots,
        fc.integer(TIMES),
        (found, rows, all, from, beforeMs) => {
          const name = (digit: number) => String(digit).repeat(64);
          const files = found.map(({ digit, modifiedMs }) => ({ sha256: name(digit), modifiedMs }));
          const named = reachable(all, from);
          const recorded = new Set(rows.map(name));
          const { remove, wait, unrecorded } = chooseFiles(files, { named, recorded, beforeMs });
          for (const one of files) {
            const free = !from.some((root) => leads(root, `artifact/${one.sha256}`, all));
            const old = one.modifiedMs < beforeMs;
            expect(remove.includes(one)).toBe(free && old && recorded.has(one.sha256));
            expect(wait.includes(one)).toBe(free && !old);
            expect(unrecorded.includes(one)).toBe(free && old && !recorded.has(one.sha256));
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("a file on its way out", () => {
  let folder: string;
  let store: ArtifactStore;
  const bytes = Buffer.from("a trajectory");
  const sha256 = sha256Of(bytes);
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
  const age = async (hours: number) =>
    utimes(join(folder, sha256.slice(0, 2), sha256.slice(2)), hoursAgo(hours), hoursAgo(hours));
  const anHourAgo = () => hoursAgo(1).getTime();
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "tadpole-gc-"));
    store = await createLocalArtifacts(folder);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("can be read until it is gone, and can come back", async () => {
    const ref = await store.put(bytes, "log");
    await age(2);
    expect(await takeOut(folder, sha256, anHourAgo())).toBe(true);
    expect(await listArtifacts(folder)).toMatchObject({
      files: [],
      removing: [{ sha256, bytes: bytes.length }],
    });
    expect(Buffer.from(await store.get(ref))).toEqual(bytes);
    await bringBack(folder, sha256);
    await bringBack(folder, sha256);
    expect(await listArtifacts(folder)).toMatchObject({ files: [{ sha256 }], removing: [] });
    await takeOut(folder, sha256, anHourAgo());
    await removeTakenOut(folder, sha256);
    await expect(store.get(ref)).rejects.toMatchObject({ kind: "missing" });
    expect(await takeOut(folder, sha256, anHourAgo())).toBe(false);
  });

  it("stays where it is when it was put again, and is put anew when it is already out", async () => {
    const ref = await store.put(bytes, "log");
    await age(2);
    await store.put(bytes, "log");
    expect((await stat(store.path!(ref))).mtimeMs).toBeGreaterThan(anHourAgo());
    expect(await takeOut(folder, sha256, anHourAgo())).toBe(false);
    await age(2);
    await takeOut(folder, sha256, anHourAgo());
    await store.put(bytes, "log");
    await removeTakenOut(folder, sha256);
    expect(Buffer.from(await store.get(ref))).toEqual(bytes);
  });

  it("is told from what is no artifact", async () => {
    const ref = await store.put(bytes, "log");
    for (const path of ["notes.txt", join(sha256.slice(0, 2), "short"), join("incoming", "half")])
      await writeFile(join(folder, path), "?");
    const found = await listArtifacts(folder);
    expect(found.files.map((file) => file.sha256)).toEqual([ref.sha256]);
    expect([...found.unknown].sort()).toEqual([`${sha256.slice(0, 2)}/short`, "notes.txt"].sort());
  });
});

describe("the command's report", () => {
  const nothing = { items: 0, bytes: 0 };
  const empty: GcReport = {
    dryRun: false,
    removed: {
      turns: nothing,
      "late results": nothing,
      requests: nothing,
      experiments: nothing,
      tasks: nothing,
      "task sets": nothing,
      policies: nothing,
      artifacts: nothing,
    },
    experiments: [],
    needed: [],
    live: [],
    waiting: nothing,
    unrecorded: nothing,
    missing: { items: 0, first: [] },
    unknown: [],
    strays: [],
  };

  it("says what went, in human units", () => {
    expect(reportLines(empty)).toEqual(["nothing to remove"]);
    const removed = {
      ...empty.removed,
      artifacts: { items: 1200, bytes: 3_500_000 },
      turns: { items: 2, bytes: 512 },
    };
    const [table, , freed] = reportLines({ ...empty, removed });
    expect(table?.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
      ["removed", "number", "size"],
      ["turns of rollouts that nobody goes on with", "2", "512 B"],
      ["artifacts that nothing names", "1200", "3.3 MB"],
    ]);
    expect(freed).toBe("freed 3.3 MB");
    expect(reportLines({ ...empty, removed, dryRun: true }).at(-1)).toBe(
      "would free 3.3 MB; nothing was removed",
    );
  });

  it("names what stays and why", () => {
    const lines = reportLines({
      ...empty,
      needed: [{ name: "old", because: "a policy of it is used by new" }],
      live: ["new"],
      waiting: { items: 3, bytes: 2048 },
      missing: { items: 1, first: [{ sha256: "a".repeat(64), namedBy: "policy/nano-1" }] },
      unknown: ["notes.txt"],
      strays: ["gone"],
    }).join("\n");
    for (const part of [
      "experiment old: a policy of it is used by new",
      "3 (2.0 KB) artifacts",
      "the oldest of new began",
      `${"a".repeat(64)} of policy/nano-1`,
      "notes.txt",
      "rows of experiment gone",
    ])
      expect(lines).toContain(part);
  });
});
