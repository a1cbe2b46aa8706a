/** Recorders on small packages: what a test calls is noted under the test's name, and its report stays as it is. */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readTestNotes } from "../../services/synthesis/recording.ts";
import { filesHolding } from "../../services/synthesis/test-files.ts";

const FILES: Readonly<Record<string, string>> = {
  "index.js": "exports.half = (n) => { if (n < 0) throw new RangeError('below 0'); return n / 2; };",
  "test/a.test.js": `
    const { test, describe, it } = require("node:test");
    const { half } = require("..");
    test("top", async (t) => {
      half(2);
      await t.test("inner", () => { half(4); });
      half(6);
    });
    describe("group", () => { it("refuses", () => { try { half(-1); } catch {} }); });
    test("waits", (t, done) => { half(8); done(); });
    test("calls nothing", () => {});
  `,
  "pack/__init__.py": "from .pack import Pack, half\n",
  "pack/pack.py": `
def half(n, exact=False):
    if n < 0: raise ValueError("below 0")
    return n / 2 if exact else n // 2

class Pack:
    def __init__(self, size=1): self.size = size
    @property
    def double(self): return self.size * 2
    def fits(self, *sizes, **more): return _all(sizes, self.size)
    def held(self): return self

def _all(sizes, size): return all(each <= size for each in sizes)
`,
  "checks/__init__.py": "",
  "checks/test_pack.py": `
import unittest
from pack import Pack, half
SHARED = Pack(3)
half(7)
class Packs(unittest.TestCase):
    def test_half(self):
        self.assertEqual(half(5), 2)
        half(5, exact=True)
        with self.assertRaises(ValueError): half(-1)
    def test_pack(self):
        Pack().fits(1, 2, name={"a": (1,)})
        SHARED.double
        half(object) if False else None
        SHARED.held()
`,
};

let root: string;
const service = (file: string) => fileURLToPath(new URL(`../../services/synthesis/${file}`, import.meta.url));
const notes = () => join(root, "notes.jsonl");

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "recorders-"));
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(join(root, path, ".."), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  mkdirSync(join(root, "start"));
  copyFileSync(service("recorder.py"), join(root, "start/sitecustomize.py"));
});
afterAll(() => rmSync(root, { recursive: true }));

/** Output without what differs from run to run. */
function run(argv: readonly string[], env: Record<string, string>): string {
  const { PATH = "" } = process.env;
  const out = execFileSync("sh", ["-c", 'exec "$@" 2>&1', "sh", ...argv], {
    cwd: root,
    env: { PATH, ...env },
  });
  return out.toString().replace(/\d+\.\d+(?:e-\d+)?s?/g, "0");
}

function recorded(scope = "") {
  const recording = readTestNotes(readFileSync(notes(), "utf8"), scope);
  rmSync(notes());
  return Object.fromEntries(
    [...recording].map(([name, calls]) => [name, calls.map((call) => [call.code, call.printed])]),
  );
}

describe("the preload of Node", () => {
  it("notes the calls of node:test's tests, and leaves the report as it is", () => {
    const argv = [process.execPath, "--test", "--test-reporter=tap", "test/a.test.js"];
    const settings = { root, tests: ["test/a.test.js"], out: notes(), append: true };
    const preload = (record: string) => ({
      NODE_OPTIONS: `--require ${service("recorder.cjs")}`,
      TADPOLE_RECORD: record,
    });
    const plain = run(argv, {});
    expect(run(argv, preload(JSON.stringify(settings)))).toBe(plain);
    const half = (n: number, printed = String(n / 2)) => [`require("./").half(${n})`, printed];
    expect(recorded()).toEqual({
      top: [half(2), half(6)],
      "top > inner": [half(4)],
      "group > refuses": [half(-1, "RangeError: below 0")],
      waits: [half(8)],
    });
    expect(run(argv, preload("no JSON"))).toBe(plain);
  });
});

describe("the preload of Python", () => {
  it("notes the public calls of unittest's tests, and leaves the report as it is", () => {
    const argv = ["/usr/bin/python3", "-B", "-m", "unittest", "-v", "checks/test_pack.py"];
    const settings = { root, sources: ["pack/pack.py"], out: notes() };
    const preload = (record: string) => ({ PYTHONPATH: join(root, "start"), TADPOLE_RECORD: record });
    const plain = run(argv, {});
    expect(run(argv, preload(JSON.stringify(settings)))).toBe(plain);
    expect(recorded("scope")).toEqual({
      "scope > test_half (checks.test_pack.Packs.test_half)": [
        ["from pack.pack import half\nhalf(5)", "2"],
        ["from pack.pack import half\nhalf(5, True)", "2.5"],
        ["from pack.pack import half\nhalf(-1)", null],
      ],
      "scope > test_pack (checks.test_pack.Packs.test_pack)": [
        ["from pack.pack import Pack\nPack().fits(1, 2, name={'a': (1,)})", "False"],
        ["from pack.pack import Pack\nPack(3).double", "6"],
      ],
    });
    expect(run(argv, preload("no JSON"))).toBe(plain);
  });
});

describe("filesHolding", () => {
  const of = (tests: readonly string[], ...names: string[]) =>
    filesHolding({ root, entry: { tests } }, names);

  it("finds the file by what a report says of it, folders opened", () => {
    expect(of(["checks", "test/a.test.js"], "test_half (checks.test_pack.Packs.test_half)")).toEqual([
      "checks/test_pack.py",
    ]);
    expect(of(["checks"], "checks.test_pack.Packs > test_half")).toEqual(["checks/test_pack.py"]);
    expect(of(["checks", "test/a.test.js"], "test/a.test.js > top")).toEqual(["test/a.test.js"]);
    writeFileSync(join(root, "a_test.go"), "package a\nfunc TestA(t *testing.T) {}");
    writeFileSync(join(root, "b_test.go"), "package a\nfunc TestAB(t *testing.T) {}");
    expect(of(["a_test.go", "b_test.go"], "example.com/a > TestA/inner")).toEqual(["a_test.go"]);
  });

  it("is all of them where a test's file is not known", () => {
    expect(of(["checks", "test/a.test.js"], "group refuses", "test/a.test.js > top")).toEqual([
      "checks/__init__.py",
      "checks/test_pack.py",
      "test/a.test.js",
    ]);
  });
});
