import { mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { codeTokens, findSourceCopies, nearestFiles } from "../../services/environments/copies.ts";
import { hashTree, readTree, type Tree, writeTree } from "../../services/environments/tree.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const treeOf = (files: Record<string, string>): Tree =>
  new Map(Object.entries(files).map(([path, text]) => [path, bytes(text)]));

const fileName = fc.stringMatching(/^[a-z]{1,8}\.js$/);
const anyTree = fc
  .uniqueArray(
    fc.tuple(
      fc.oneof(
        fileName,
        fileName.map((name) => `lib/${name}`),
      ),
      fc.uint8Array({ maxLength: 40 }),
    ),
    {
      selector: ([path]) => path,
      minLength: 1,
      maxLength: 6,
    },
  )
  .map((files) => new Map(files) as Tree);

describe("a tree", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "tree-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("reads back as it was written, with the same hash", async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(anyTree, async (tree) => {
        const target = join(folder, String(count++));
        await writeTree(tree, target);
        expect(hashTree(await readTree(target))).toBe(hashTree(tree));
      }),
      { numRuns: 25 },
    );
  });

  it("has a hash that depends on every path and byte, and not on the order", () => {
    fc.assert(
      fc.property(anyTree, fc.nat(), fc.integer({ min: 1, max: 255 }), (tree, pick, flip) => {
        const hash = hashTree(tree);
        expect(hashTree(new Map([...tree].reverse()))).toBe(hash);
        const [path, content] = [...tree][pick % tree.size]!;
        const longer = new Uint8Array([...content, 0]);
        expect(hashTree(new Map([...tree, [path, longer]]))).not.toBe(hash);
        if (content.length > 0) {
          const changed = content.slice();
          changed[0]! ^= flip;
          expect(hashTree(new Map([...tree, [path, changed]]))).not.toBe(hash);
        }
        const renamed = new Map([...tree].map(([name, text]) => [name === path ? `${name}x` : name, text]));
        expect(hashTree(renamed)).not.toBe(hash);
      }),
    );
  });

  it("leaves out what is not kept, with all below it", async () => {
    await writeTree(treeOf({ "index.js": "1", "dist/a.js": "2", "dist/deep/b.js": "3" }), folder);
    const tree = await readTree(folder, (path) => path !== "dist");
    expect([...tree.keys()]).toEqual(["index.js"]);
  });

  it("has files of one mode and one time, so that a listing tells nothing of the preparation", async () => {
    await writeTree(treeOf({ "index.js": "1", "lib/a.js": "2" }), folder);
    for (const path of ["index.js", "lib/a.js", "lib"])
      expect((await stat(join(folder, path))).mtime.toISOString(), path).toBe("1985-10-26T08:15:00.000Z");
    expect((await stat(join(folder, "lib/a.js"))).mode & 0o777).toBe(0o644);
  });

  it("holds no links", async () => {
    await writeFile(join(folder, "a.js"), "");
    await symlink("/etc/passwd", join(folder, "b.js"));
    await expect(readTree(folder)).rejects.toThrow(/b\.js: neither a file nor a folder/);
  });
});

const SOURCE = `
// Clamps a number.
module.exports = function clamp(value, low, high) {
  if (low > high) { var other = low; low = high; high = other; }
  if (value < low) return low;
  return value > high ? high : value; /* in range */
};
module.exports.wrap = function (value, size, name) {
  var left = value % size;
  return left < 0 ? name + "-" + (left + size) : name + "-" + left;
};
`;

describe("the search for copies of a source", () => {
  const sources = treeOf({ "index.js": SOURCE });

  it("does not care for comments, line ends, semicolons or quotes", () => {
    const lines = SOURCE.trim().split("\n");
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("\n", "\r\n", "\n\n  ", " // note\n", "\n/* a\n note */\n"), {
          minLength: lines.length,
          maxLength: lines.length,
        }),
        fc.boolean(),
        fc.boolean(),
        (ends, single, bare) => {
          let text = lines.map((line, index) => line.replace(/\/\/.*/, "") + ends[index]!).join("");
          if (single) text = text.replaceAll('"', "'");
          if (bare) text = text.replaceAll(/;\s*\n/g, "\n");
          expect(findSourceCopies(sources, treeOf({ "other.js": text }))).toEqual([
            { source: "index.js", file: "other.js", share: 1 },
          ]);
        },
      ),
    );
  });

  it("finds a source inside a bundle, a source map and another version", () => {
    const bundle = `(function(){ var x = 1; ${SOURCE} return x + 2 })()`;
    const map = JSON.stringify({ version: 3, sourcesContent: [SOURCE] });
    const older = SOURCE.replace("value % size", "value - size").replace("in range", "ok");
    const found = (text: string) => findSourceCopies(sources, treeOf({ file: text }));
    expect(found(bundle)[0]?.share).toBe(1);
    expect(found(map)[0]?.share).toBeGreaterThan(0.9);
    expect(found(older)[0]?.share).toBeGreaterThan(0.7);
  });

  it("does not take a text of the same idioms for a copy", () => {
    const other = `
module.exports = function sum(values, start) {
  var total = start || 0;
  for (var i = 0; i < values.length; i++) { if (values[i] > 0) total += values[i]; }
  return total;
};`;
    expect(findSourceCopies(sources, treeOf({ "sum.js": other }))).toEqual([]);
    expect(nearestFiles(sources, treeOf({ "sum.js": other }))[0]?.share).toBeLessThan(0.1);
  });

  it("has nothing to find for a source shorter than a shingle, and no file among none", () => {
    expect(nearestFiles(treeOf({ "index.js": "module.exports = 1" }), sources)).toEqual([]);
    expect(nearestFiles(sources, new Map())).toEqual([]);
  });

  it("keeps addresses in strings apart from comments", () => {
    expect(codeTokens("var a = 'http://x.y/z'; // gone")).toEqual(codeTokens('var a = "http://x.y/z"'));
  });
});
