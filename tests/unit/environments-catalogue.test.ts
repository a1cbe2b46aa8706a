import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  CATALOGUE_FOLDER,
  EnvironmentError,
  findEntry,
  loadCatalogue,
} from "../../services/environments/index.ts";
import { readNpmLock } from "../../services/environments/pins.ts";

async function failure(promise: Promise<unknown>): Promise<EnvironmentError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(EnvironmentError);
  return error as EnvironmentError;
}

describe("the bundled catalogue", () => {
  it("has enough packages of each role, each pinned by version and integrity", async () => {
    const { entries } = await loadCatalogue();
    const count = (role: string) => entries.filter((entry) => entry.role === role).length;
    expect(count("train")).toBeGreaterThanOrEqual(5);
    expect(count("unseen")).toBeGreaterThanOrEqual(3);
    expect(count("pretrain")).toBeGreaterThanOrEqual(5);
    const forms = {
      npm: [/^sha512-[A-Za-z0-9+/]{86}==$/, "npm:NAME@VERSION"],
      pypi: [/^sha256:[0-9a-f]{64}$/, "pypi:NAME==VERSION"],
      go: [/^h1:[A-Za-z0-9+/]{43}=$/, "go:NAME@vVERSION"],
    } as const;
    for (const entry of entries) {
      const { kind } = entry.pins;
      if (kind === "git" || kind === "docker") throw new Error(`${entry.name}: no registry has ${kind}`);
      const [integrity, source] = forms[kind];
      expect(entry.integrity, entry.name).toMatch(integrity);
      expect(entry.source).toBe(source.replace("NAME", entry.packageName).replace("VERSION", entry.version));
    }
  });

  it("is found by name, and an unknown name lists the known ones", async () => {
    const catalogue = await loadCatalogue();
    expect(findEntry(catalogue, "tilebelt").packageName).toBe("@mapbox/tilebelt");
    expect(() => findEntry(catalogue, "left-pad")).toThrow(/unknown package "left-pad".*minimist/);
  });
});

describe("a catalogue with a mistake", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "catalogue-"));
    await cp(CATALOGUE_FOLDER, folder, { recursive: true });
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function edit(name: string, from: string | RegExp, to: string): Promise<void> {
    const text = await readFile(join(folder, name), "utf8");
    const edited = text.replace(from, to);
    expect(edited, `${from} is in ${name}`).not.toBe(text);
    await writeFile(join(folder, name), edited);
  }

  it.each([
    ["an unknown key", /role: train/, "colour: red\n    role: train", /packages\.0: .*colour/],
    ["an unknown role", /role: train/, "role: training", /packages\.0\.role: .*train/],
    ["no exact version", "minimist@1.2.8", "minimist@^1.2.8", /packages\.0\.source: expected npm:/],
    [
      "another version than package.json",
      "minimist@1.2.8",
      "minimist@1.2.7",
      /package\.json pins minimist to 1\.2\.8/,
    ],
    ["a package that is not pinned", "npm:minimist@", "npm:minimist-lite@", /pins minimist-lite to nothing/],
    [
      "a path out of the package",
      "[index.js]",
      "[../index.js]",
      /packages\.0\.sources\.0: expected a path inside/,
    ],
    ["no sources", "[index.js]", "[]", /packages\.0\.sources/],
    [
      "a source that is a test",
      "[index.js]",
      "[test/bool.js]",
      /test\/bool\.js is among the sources and the tests/,
    ],
    ["a name twice", "name: shell-quote", "name: minimist", /two packages are named minimist/],
    [
      "a framework of another language",
      "framework: tape",
      "framework: pytest",
      /packages\.0\.source \(minimist\): framework pytest: expected one of tape/,
    ],
    ["broken YAML", "packages:", "packages: [", /catalogue\.yaml: /],
  ])("%s is one error that names file and field", async (_what, from, to, message) => {
    await edit("catalogue.yaml", from, to);
    const error = await failure(loadCatalogue(folder));
    expect(error.kind).toBe("catalogue");
    expect(error.message).toContain(join(folder, "catalogue.yaml"));
    expect(error.message).toMatch(message);
  });

  it("a lockfile entry without integrity, with an address or of another version is refused", async () => {
    const lock = await readFile(join(folder, "package-lock.json"), "utf8");
    await edit("package-lock.json", '"integrity": ', '"checksum": ');
    expect((await failure(loadCatalogue(folder))).message).toMatch(
      /package-lock\.json: node_modules\/\S+ has no integrity/,
    );
    await writeFile(join(folder, "package-lock.json"), lock);
    await edit(
      "package-lock.json",
      /"integrity": /,
      '"resolved": "https://example.org/x.tgz", "integrity": ',
    );
    expect((await failure(loadCatalogue(folder))).message).toMatch(/has a download address/);
    await writeFile(join(folder, "package-lock.json"), lock);
    await edit("package-lock.json", /("node_modules\/minimist": \{\s*"version": )"1\.2\.8"/, '$1"1.2.6"');
    expect((await failure(loadCatalogue(folder))).message).toMatch(/the lockfile has 1\.2\.6, not 1\.2\.8/);
  });

  it("a missing file is named", async () => {
    await rm(join(folder, "package-lock.json"));
    const error = await failure(loadCatalogue(folder));
    expect(error.message).toContain(`${join(folder, "package-lock.json")}: cannot be read`);
  });

  it("every change of the lockfile changes the lock hash", async () => {
    const hash = async (from: string) => (await readNpmLock(from)).hash;
    const before = await hash(folder);
    expect(before).toBe(await hash(CATALOGUE_FOLDER));
    await edit("package-lock.json", /sha512-./, "sha512-x");
    expect(await hash(folder)).not.toBe(before);
  });
});
