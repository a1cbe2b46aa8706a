import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nearestFiles } from "../../services/environments/copies.ts";
import {
  CATALOGUE_FOLDER,
  type Catalogue,
  environmentFiles,
  findEntry,
  loadCatalogue,
  loadEnvironment,
  type PinnedEntry,
  type PreparedEnvironment,
  prepareEnvironment,
  pretrainingSources,
  type RunTests,
  verifyEnvironment,
} from "../../services/environments/index.ts";
import { readTree, type Tree } from "../../services/environments/tree.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";

let scratch: string;
let catalogue: Catalogue;
let grading: GradingService;
let runs = 0;

const runTests: RunTests = (request) => {
  runs++;
  return grading.runTests(request, "cold");
};

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "environments-"));
  catalogue = await loadCatalogue();
  const runtime = createProcessRuntime({ root: join(scratch, "sandboxes"), nodePath: process.execPath });
  grading = createGrading({ runtime });
});
afterAll(async () => {
  await grading.close();
  await rm(scratch, { recursive: true, force: true });
});

/** All tests but those of the installation itself share one. */
const data = () => join(scratch, "data");

const prepare = (name: string, changes: Partial<Parameters<typeof prepareEnvironment>[0]> = {}) =>
  prepareEnvironment({ name, dataFolder: data(), runTests, catalogue, ...changes });

/** Folder of the installation of the catalogue's own lockfile. */
function installation(): string {
  const { pins } = findEntry(catalogue, "camelize");
  if (pins.kind !== "npm") throw new Error("camelize comes from npm");
  return `modules-${pins.lock.hash.slice(0, 12)}`;
}

/** The catalogue with one entry changed. */
function withEntry(name: string, changes: Partial<PinnedEntry>): Catalogue {
  const entries = catalogue.entries.map((entry) => (entry.name === name ? { ...entry, ...changes } : entry));
  return { ...catalogue, entries };
}

async function sourcesOf({ entry, root }: PreparedEnvironment): Promise<Tree> {
  return new Map([...(await readTree(root))].filter(([path]) => entry.sources.includes(path)));
}

async function leftovers(): Promise<string[]> {
  return (await readdir(join(data(), "environments"))).filter((name) => name.startsWith(".tmp-"));
}

/** One of each framework but tape and Go's, which environments-languages.test.ts proves; the rest of the catalogue is proven by `tadpole env verify`. */
const SAMPLE = ["complex", "content-type", "isodate", "roman"];

describe("every package of the catalogue whose tests use tape, and a sample of the others", () => {
  const prepared = new Map<string, PreparedEnvironment>();

  it("passes its own tests untouched, in a sandbox, by the modules it was given", async ({ signal }) => {
    for (const { name, framework } of catalogue.entries)
      if (framework === "tape" || SAMPLE.includes(name))
        prepared.set(name, await prepare(name, { repeats: 1, signal }));
    for (const [name, { key, baseline, unstable }] of prepared) {
      expect(key.replace(/-[0-9a-f]{12}$/, "")).toBe(`${name}@${findEntry(catalogue, name).version}`);
      expect(new Set(Object.values(baseline)), name).toEqual(new Set(["passed"]));
      expect(unstable, name).toEqual([]);
      expect(Object.keys(baseline).length, name).toBeGreaterThanOrEqual(5);
    }
    expect(await leftovers()).toEqual([]);
  }, 600_000);

  it("has no line of its sources in its modules or elsewhere in its tree, but for idioms", async () => {
    for (const [name, environment] of prepared) {
      const sources = await sourcesOf(environment);
      const others = [
        ...[...(await readTree(environment.root))].filter(([path]) => !sources.has(path)),
        ...(await readTree(environment.modules)),
      ].map(([, content]) => Buffer.from(content).toString("utf8"));
      const lines = [...sources.values()]
        .flatMap((content) => Buffer.from(content).toString("utf8").split("\n"))
        .map((line) => line.trim())
        .filter((line) => line.length >= 40 && !/^(\/\/|#|\*)/.test(line));
      const copied = lines.filter((line) => others.some((text) => text.includes(line)));
      expect(copied.length, `${name}: ${copied.join("\n")}`).toBeLessThanOrEqual(0.1 * lines.length);
    }
  });

  it("gives its sources to pretraining when that is its role, and only then", async () => {
    const sources = await pretrainingSources(data());
    const expected = [...prepared.values()]
      .filter(({ entry }) => entry.role === "pretrain")
      .flatMap(({ entry }) => entry.sources.map((path) => `${entry.name}/${path}`));
    expect(sources.map(({ path }) => path)).toEqual(expected);
    const files = await environmentFiles(prepared.get("lineclip")!);
    expect(sources.find(({ path }) => path === "lineclip/index.js")?.text).toBe(files.get("index.js"));
  });

  it("is not another one's near copy across roles", async () => {
    const ofRole = async (role: string): Promise<Tree> => {
      const all = [...prepared.values()].filter(({ entry }) => entry.role === role);
      const files = await Promise.all(
        all.map(async (environment) =>
          [...(await sourcesOf(environment))].map(
            ([path, content]) => [`${environment.entry.name}/${path}`, content] as const,
          ),
        ),
      );
      return new Map(files.flat());
    };
    const [train, unseen, pretrain] = await Promise.all(["train", "unseen", "pretrain"].map(ofRole));
    for (const [left, right] of [
      [train, unseen],
      [train, pretrain],
      [unseen, pretrain],
    ] as const)
      expect(nearestFiles(left!, right!)[0]!.share).toBeLessThan(0.2);
  });
});

describe("preparation", () => {
  it("makes the same key, tree and modules from nothing in another data folder, and proves it", async () => {
    const proof = await verifyEnvironment({
      name: "tilebelt",
      dataFolder: data(),
      runTests,
      catalogue,
      scratchFolder: join(scratch, "verify"),
    });
    expect(proof).toMatchObject({ differences: [], tests: 65, unstable: [], runs: 6 });
    expect(proof.flakeBound).toBeCloseTo(1 - 0.05 ** (1 / 6), 9);
  }, 60_000);

  it("runs no test again when nothing changed, but does for more repeats", async () => {
    const first = await prepare("word-wrapper", { repeats: 2 });
    const before = runs;
    expect(await prepare("word-wrapper", { repeats: 2 })).toEqual(first);
    expect(await loadEnvironment(data(), first.key)).toEqual(first);
    expect(runs).toBe(before);
    expect((await prepare("word-wrapper", { repeats: 3 })).baselineRuns).toBe(3);
    expect(runs).toBe(before + 3);
  }, 30_000);

  it.each([
    [
      "a changed source",
      async ({ root }: PreparedEnvironment) => writeFile(join(root, "index.js"), "module.exports = 1"),
    ],
    [
      "a file too many",
      async ({ modules }: PreparedEnvironment) => writeFile(join(modules, "answer.js"), ""),
    ],
    ["a lost record", async ({ root }: PreparedEnvironment) => rm(join(root, "../environment.json"))],
    [
      "a cut record",
      async ({ root }: PreparedEnvironment) => writeFile(join(root, "../environment.json"), '{"key":'),
    ],
    ["a lost tree", async ({ root }: PreparedEnvironment) => rm(root, { recursive: true })],
  ])(
    "rebuilds an environment with %s, and loading it by key says what is wrong",
    async (_what, damage) => {
      const whole = await prepare("camelize");
      const text = (await environmentFiles(whole)).get("index.js");
      await damage(whole);
      await expect(loadEnvironment(data(), whole.key)).rejects.toMatchObject({ kind: "damaged" });
      const again = await prepare("camelize");
      expect(again).toMatchObject({ key: whole.key, baseline: whole.baseline });
      expect((await environmentFiles(again)).get("index.js")).toBe(text);
      expect(await leftovers()).toEqual([]);
    },
    30_000,
  );

  it("installs again what was changed since npm checked it", async () => {
    const dataFolder = join(scratch, "reinstalled");
    const whole = await prepare("word-wrapper", { dataFolder, repeats: 1 });
    const installed = join(dataFolder, "environments", installation());
    const source = join(installed, "node_modules", "word-wrapper", "index.js");
    await writeFile(source, (await readFile(source, "utf8")).replace("width", "height"));
    // As a new process sees it: this one has checked that folder already.
    const elsewhere = join(scratch, "reinstalled-by-another");
    await rename(dataFolder, elsewhere);
    const again = await prepare("word-wrapper", { dataFolder: elsewhere, repeats: 1 });
    expect(again.key).toBe(whole.key);
  }, 30_000);

  it("removes what a killed preparer left, and nothing of a living one", async () => {
    const folder = join(data(), "environments");
    for (const name of [".tmp-old", ".tmp-young"])
      await mkdir(join(folder, name, "root"), { recursive: true });
    const hours = new Date(Date.now() - 2 * 3_600_000);
    await utimes(join(folder, ".tmp-old"), hours, hours);
    await prepare("camelize");
    expect(await leftovers()).toEqual([".tmp-young"]);
    await rm(join(folder, ".tmp-young"), { recursive: true });
  }, 30_000);

  it("can be done by several at once, installation included", async () => {
    const dataFolder = join(scratch, "concurrent");
    const all = await Promise.all([1, 2, 3].map(() => prepare("lineclip", { dataFolder, repeats: 1 })));
    expect(new Set(all.map(({ key }) => key)).size).toBe(1);
    await expect(loadEnvironment(dataFolder, all[0]!.key)).resolves.toMatchObject({ baselineRuns: 1 });
    const names = await readdir(join(dataFolder, "environments"));
    expect(names.sort()).toEqual([all[0]!.key, installation()]);
  }, 60_000);

  it("stops when it is cancelled, and leaves nothing half done", async () => {
    const controller = new AbortController();
    const cancelling: RunTests = (request) => {
      controller.abort(new Error("cancelled"));
      return runTests(request);
    };
    // Another entry than the one that is prepared already.
    const other = withEntry("ent", { omit: ["examples"] });
    await prepare("ent", { repeats: 1 });
    const before = await readdir(join(data(), "environments"));
    await expect(
      prepare("ent", { catalogue: other, runTests: cancelling, signal: controller.signal }),
    ).rejects.toThrow("cancelled");
    expect(controller.signal.aborted).toBe(true);
    expect(await readdir(join(data(), "environments"))).toEqual(before);
  }, 30_000);

  it("changes the key with the entry", async () => {
    const other = withEntry("camelize", { omit: ["example"] });
    expect((await prepare("camelize", { catalogue: other })).key).not.toBe((await prepare("camelize")).key);
  }, 30_000);
});

describe("a package is refused", () => {
  const refused = (name: string, changes: Partial<PinnedEntry>) =>
    prepare(name, { catalogue: withEntry(name, changes), repeats: 1 });

  it("when it is not in the catalogue", async () => {
    await expect(prepare("left-pad")).rejects.toMatchObject({ kind: "unknown" });
  });

  it("when a test file fails untouched, with the reason", async () => {
    const { tests } = findEntry(catalogue, "text-table");
    const changes = { tests: [...tests, "test/ansi-colors.js"], omit: [] };
    await expect(refused("text-table", changes)).rejects.toMatchObject({
      kind: "tests-fail",
      message: expect.stringMatching(/text-table.*(reach their end|exits)[\s\S]*cli-color/),
    });
    expect(await leftovers()).toEqual([]);
  }, 30_000);

  it("when its tree has a bundle or a minified build of its sources", async () => {
    await expect(refused("qs", { omit: [] })).rejects.toMatchObject({
      kind: "source-copy",
      message: expect.stringContaining("dist/qs.js holds 100 % of"),
    });
    await expect(refused("base64-js", { omit: [] })).rejects.toMatchObject({
      kind: "source-copy",
      message: expect.stringContaining("base64js.min.js"),
    });
  });

  it("when the test framework needs its source", async () => {
    const changes = {
      packageName: "deep-equal",
      version: "1.0.1",
      sources: ["index.js"],
      tests: ["test/cmp.js"],
    };
    await expect(refused("minimist", changes)).rejects.toMatchObject({
      kind: "source-copy",
      message: expect.stringContaining("tape/lib/test.js needs"),
    });
  });

  it("when Node itself carries its source and tasks are to be made of it", async () => {
    const verify = (role: "train" | "pretrain") =>
      verifyEnvironment({
        name: "path-browserify",
        dataFolder: data(),
        runTests,
        catalogue: withEntry("path-browserify", { role }),
        repeats: 1,
        scratchFolder: join(scratch, "verify"),
      });
    await expect(verify("train")).rejects.toMatchObject({
      kind: "source-copy",
      message: expect.stringMatching(/Node's node:path holds \d+ % of index\.js/),
    });
    await expect(verify("pretrain")).resolves.toMatchObject({ differences: [] });
  }, 60_000);

  it("when a listed file does not exist", async () => {
    await expect(refused("camelize", { tests: ["test/none.js"] })).rejects.toMatchObject({
      kind: "catalogue",
      message: expect.stringContaining("npm:camelize@1.0.0 has no file test/none.js"),
    });
  });

  it("when the registry's tarball is not the one the lockfile names", async () => {
    const folder = join(scratch, "tampered");
    await cp(CATALOGUE_FOLDER, folder, { recursive: true });
    const lockFile = join(folder, "package-lock.json");
    const { integrity } = findEntry(catalogue, "camelize");
    const other = integrity.replace(/-./, (start) => (start === "-A" ? "-B" : "-A"));
    await writeFile(lockFile, (await readFile(lockFile, "utf8")).replace(integrity, other));
    const dataFolder = join(scratch, "tampered-data");
    const tampered = await loadCatalogue(folder);
    await expect(prepare("camelize", { catalogue: tampered, dataFolder })).rejects.toMatchObject({
      kind: "install",
      message: expect.stringContaining("EINTEGRITY"),
    });
    expect(await readdir(join(dataFolder, "environments"))).toEqual([]);
  }, 60_000);
});
