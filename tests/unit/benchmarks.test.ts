/** Benchmark files of an experiment: found beside it, kept as artifacts, read by whoever validates. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { benchmarksOf } from "../../activities/benchmarks.ts";
import { locateBenchmarks, pinBenchmarks } from "../../apps/control/benchmarks.ts";
import { loadExperiment } from "../../apps/control/index.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { type ArtifactStore, createLocalArtifacts } from "../../services/store/index.ts";
import { contaminated } from "../../services/synthesis/contamination.ts";

const WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";
let folder: string;
let artifacts: ArtifactStore;
let quickstart: ExperimentSettings;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "benchmarks-"));
  artifacts = await createLocalArtifacts(join(folder, "artifacts"));
  mkdirSync(join(folder, "sets"));
  writeFileSync(
    join(folder, "sets", "rows.jsonl"),
    `${JSON.stringify({ id: 1, more: [{ text: WORDS }] })}\n`,
  );
  writeFileSync(join(folder, "issue.md"), WORDS.toUpperCase());
  ({ settings: quickstart } = await loadExperiment("quickstart", { set: [] }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const asking = (...decontaminate: string[]): ExperimentSettings => ({
  ...quickstart,
  synthesis: { ...quickstart.synthesis, gates: { ...quickstart.synthesis.gates, decontaminate } },
});
const pin = (...paths: string[]) =>
  pinBenchmarks(artifacts, locateBenchmarks(asking(...paths), join(folder, "mine.yaml")));

it.each([
  ["rows", "sets/rows.jsonl"],
  ["text", "issue.md"],
])("a file of %s becomes an artifact that knows its texts", async (_, path) => {
  const { decontaminate } = (await pin(path)).synthesis.gates;
  expect(decontaminate).toEqual([expect.stringMatching(/^artifact:[0-9a-f]{64}$/)]);
  const [benchmark] = await benchmarksOf({ artifacts }, decontaminate);
  expect(benchmark!.name).toBe(path.split("/").at(-1));
  expect(contaminated([{ part: "the text", text: `so: ${WORDS}` }], [benchmark!]).passed).toBe(false);
});

it("settings that are pinned, or name nothing, stay as they are", async () => {
  const pinned = await pin("issue.md");
  expect(await pinBenchmarks(undefined, pinned)).toBe(pinned);
  expect(await pinBenchmarks(undefined, quickstart)).toBe(quickstart);
  expect(locateBenchmarks(quickstart, "x.yaml")).toBe(quickstart);
});

it.each([
  ["a file that is not there", "nothing.jsonl", "nothing.jsonl"],
  ["a folder", "sets", "sets"],
])("names the setting and %s", async (_, path, told) => {
  await expect(pin(path)).rejects.toThrow(new RegExp(`synthesis.gates.decontaminate.*${told}`));
});

it("names the line of a row that cannot be read", async () => {
  writeFileSync(join(folder, "bad.jsonl"), `{"a":1}\n{oops\n`);
  await expect(pin("bad.jsonl")).rejects.toThrow(/synthesis\.gates\.decontaminate.*bad\.jsonl.*2/);
});
