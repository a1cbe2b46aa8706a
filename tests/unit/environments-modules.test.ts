import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collectModules, innermostPackage, requiredNames } from "../../services/environments/closure.ts";
import type { PinnedEntry } from "../../services/environments/index.ts";
import { readTree } from "../../services/environments/tree.ts";

describe("what a file requires", () => {
  it("are the literal arguments of require, each once and in order", () => {
    const source = `#!/usr/bin/env node
var b = require("b"), a = require('a'); require("b");
try { require("optional/part") } catch (e) {}
require(name); other.require("no"); // require("comment")
var text = 'require("text")'; return;`;
    expect(requiredNames(source)).toEqual(["b", "a", "optional/part"]);
  });

  it("cannot be told of a module of another kind", () => {
    expect(() => requiredNames("import a from 'a'")).toThrow(SyntaxError);
  });
});

describe("the package of a path", () => {
  it.each([
    ["tape/lib/test.js", "tape", "tape"],
    ["@scope/pack/index.js", "@scope/pack", "@scope/pack"],
    ["a/node_modules/@b/c/x.js", "a/node_modules/@b/c", "@b/c"],
    ["a/node_modules/b/node_modules/c/x.js", "a/node_modules/b/node_modules/c", "c"],
  ])("%s is in %s", (path, folder, packageName) => {
    expect(innermostPackage(path)).toEqual({ folder, packageName });
  });
});

describe("the modules of an environment", () => {
  let installed: string;
  beforeEach(async () => {
    installed = join(await mkdtemp(join(tmpdir(), "modules-")), "node_modules");
  });
  afterEach(() => rm(dirname(installed), { recursive: true, force: true }));

  const entry: PinnedEntry = {
    name: "pack",
    packageName: "pack",
    source: "npm:pack@1.0.0",
    version: "1.0.0",
    integrity: "",
    role: "train",
    sources: ["index.js"],
    tests: ["test/a.js"],
    omit: [],
    framework: "tape",
    pins: { kind: "npm", lock: { folder: "", hash: "", dependencies: {}, packages: {} } },
  };

  async function install(files: Record<string, string>): Promise<void> {
    const withPackages = { ...files };
    for (const path of Object.keys(files))
      withPackages[`${innermostPackage(path).folder}/package.json`] ??= JSON.stringify({ main: "index.js" });
    for (const [path, text] of Object.entries(withPackages)) {
      await mkdir(dirname(join(installed, path)), { recursive: true });
      await writeFile(join(installed, path), text);
    }
  }

  async function collect(): Promise<string[]> {
    const tree = await readTree(join(installed, "pack"), (path) => path !== "node_modules");
    return [...(await collectModules(entry, tree, installed)).keys()];
  }

  const own = {
    "pack/index.js": "module.exports = require('./lib/part'); require('fs')",
    "pack/lib/part.js": "require('dependency')",
    "pack/test/a.js": "require('tape'); require('../')",
    "tape/index.js": "require('./lib/run'); try { require('not-installed') } catch (e) {}",
    "tape/lib/run.js": "require('helper/deep')",
    "tape/bin/tape.js": "require('big')",
    "tape/readme.md": "",
    "helper/index.js": "",
    "helper/deep.js": "require('./data.json')",
    "helper/data.json": "{}",
    "big/index.js": "",
    "dependency/index.js": "",
  };

  it("are the files that sources and tests can load, and no others", async () => {
    await install(own);
    expect(await collect()).toEqual([
      "dependency/index.js",
      "dependency/package.json",
      "helper/data.json",
      "helper/deep.js",
      "helper/package.json",
      "tape/index.js",
      "tape/lib/run.js",
      "tape/package.json",
    ]);
  });

  it("have the package's own nested dependencies at their top, and other packages' where they are", async () => {
    await install({
      ...own,
      "pack/node_modules/dependency/index.js": "",
      "tape/lib/run.js": "require('nested')",
      "tape/node_modules/nested/index.js": "require('dependency/other')",
      "tape/node_modules/dependency/other.js": "",
    });
    expect(await collect()).toEqual([
      "dependency/index.js",
      "dependency/package.json",
      "tape/index.js",
      "tape/lib/run.js",
      "tape/node_modules/dependency/other.js",
      "tape/node_modules/dependency/package.json",
      "tape/node_modules/nested/index.js",
      "tape/node_modules/nested/package.json",
      "tape/package.json",
    ]);
  });

  it("are refused when two versions are needed in one place", async () => {
    await install({
      ...own,
      "pack/node_modules/dependency/index.js": "",
      "tape/lib/run.js": "require('dependency')",
    });
    await expect(collect()).rejects.toMatchObject({
      kind: "install",
      message: expect.stringContaining("in one place"),
    });
  });

  it.each([
    ["the test framework loads the package", { "tape/lib/run.js": "require('pack')" }],
    ["the framework loads a file of it", { "tape/lib/run.js": "require('pack/lib/part')" }],
    [
      "the framework has another version of it",
      { "tape/lib/run.js": "require('pack')", "tape/node_modules/pack/index.js": "" },
    ],
  ])("are refused when %s", async (_what, files) => {
    await install({ ...own, ...files });
    await expect(collect()).rejects.toMatchObject({
      kind: "source-copy",
      message: expect.stringContaining("tape/lib/run.js"),
    });
  });

  it("are refused when a file is no CommonJS", async () => {
    await install({ ...own, "helper/deep.js": "export default 1" });
    await expect(collect()).rejects.toMatchObject({
      kind: "install",
      message: expect.stringContaining("helper/deep.js is no CommonJS file"),
    });
  });
});
