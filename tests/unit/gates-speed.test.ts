/** The check of a speed-up, outside of a box: what code that is judged may try so that it looks faster, or the base tree slower. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadCatalogue, type PreparedEnvironment } from "../../services/environments/index.ts";
import { writeText } from "../../services/synthesis/changes.ts";
import { checkOf } from "../../services/synthesis/checks/index.ts";

type Files = Readonly<Record<string, string>>;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tree-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const catalogue = await loadCatalogue();

function write(files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, "root", path)), { recursive: true });
    writeFileSync(join(folder, "root", path), text);
  }
}

/** Whether the workload prints the same, and is twice as fast; and what the check says of it. */
function judge(name: string, base: Files, judged: Files, workload: readonly [path: string, text: string]) {
  write(base);
  const entry = catalogue.entries.find((one) => one.name === name)!;
  const environment = { key: name, entry, root: join(folder, "root"), image: null };
  const made = checkOf(
    environment as unknown as PreparedEnvironment,
    { type: "performance", generator: "llm", base: [], gold: [], sites: [], functions: [] },
    { type: "performance", minSpeedup: 2, workload: writeText(...workload) },
  );
  if ("none" in made) throw new Error(made.none);
  write({ ...judged, [workload[0]]: workload[1] });
  mkdirSync(join(folder, "check"));
  for (const file of made.files)
    if (file.kind === "write" && file.path.startsWith("/tmp/check/"))
      writeFileSync(
        file.path.replace("/tmp/check", join(folder, "check")),
        // Two pairs are enough where nothing is to be bounded closely.
        file.content.replace(/"looks":\[[^\]]*\]/, '"looks":[2]'),
      );
  const run = spawnSync(process.execPath, [join(folder, "check", "performance.cjs")], {
    cwd: environment.root,
    encoding: "utf8",
    env: { ...process.env, PYTHONPATH: join(folder, "root", "src") },
  });
  expect(run.stderr).toBe("");
  const [same, fast] = [1, 2].map((number) => run.stdout.includes(`\nok ${number} `));
  return { same, fast, said: run.stdout };
}

const SPIN = "for (var end = process.cpuUsage().user + MS * 1000; process.cpuUsage().user < end; );";
const slow = (ms: number, first = "", last = "") =>
  `${first}exports.answer = function () { ${SPIN.replace("MS", String(ms))} ${last} return 42; };\n`;
const WORKLOAD = ["bench/deep.js", "console.log(require('../').answer());\n"] as const;

// The arguments are looked at from the second on: the first is where Node itself lies, which says nothing of the workload.
it.each([
  ["half of the work", slow(60), true, true],
  [
    "the answer and an early end",
    slow(0, "if (!/test/.test(require.main.filename)) { console.log(42); process.exit(0); }\n"),
    ...[false, false],
  ],
  ["an end within the call", slow(0, "", "console.log(42); process.exit(0);"), false, false],
  [
    "a look for the name of the workload",
    slow(
      250,
      "if (/bench|deep|speed|perf|check/.test([require.main.filename, process.argv.slice(1).join(), process.cwd(), process.env.PWD].join())) exports.known = 1;\n",
    ).replace(
      "exports.answer = function () {",
      "exports.answer = function () { if (exports.known) return 42;",
    ),
    ...[true, false],
  ],
] as const)(
  "Node: %s",
  (_, judged, same, fast) => {
    const base = { "index.js": slow(250), "data.json": "1" };
    const done = judge("minimist", base, { "index.js": judged }, WORKLOAD);
    expect([done.same, done.fast], done.said).toEqual([same, fast]);
  },
  180_000,
);

it("a workload that ends by exit is named", () => {
  const workload = ["bench/deep.js", `${WORKLOAD[1]}process.exit(0);\n`] as const;
  const done = judge("minimist", { "index.js": slow(250) }, {}, workload);
  expect(done.said).toContain("the workload does not reach its last line on the base tree");
});

it("code that the judged tree adds or has compiled does not stand in for the base's", () => {
  const source = (seconds: number) =>
    `import time\n\ndef answer():\n    end = time.process_time() + ${seconds}\n    while time.process_time() < end:\n        pass\n    return 42\n`;
  const judged = { "src/roman/__init__.py": source(0.6), "src/roman.py": source(0.3) };
  const workload = ["bench/deep.py", "import roman\n\nprint(roman.answer())\n"] as const;
  // The package takes the module's place in the judged tree; the base would be as slow with it.
  const done = judge("roman", { "src/roman.py": source(0.25) }, judged, workload);
  expect([done.same, done.fast], done.said).toEqual([true, false]);
  expect(Number(/speedup ([\d.]+)/.exec(done.said)?.[1])).toBeLessThan(0.6);
}, 180_000);

it("a Go program that is replaced while another runs is laid anew", () => {
  const source = (spins: number, more = "") =>
    `package deep\n\n${more}\nfunc Answer() int {\n\tsum := 0\n\tfor i := 0; i < ${spins}; i++ {\n\t\tsum += i ^ (sum >> 3)\n\t}\n\treturn sum & 0\n}\n`;
  const swap = `import (
	"os"
	"path/filepath"
	"time"
)

func init() {
	own, _ := os.Executable()
	found, _ := filepath.Glob(filepath.Dir(filepath.Dir(own)) + "/*/*")
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.Mode()&0111 != 0 && !info.IsDir() && path != own {
			os.WriteFile(path, []byte("#!/bin/sh\\nexit 1\\n"), 0755)
		}
	}
	_ = time.Now
}
`;
  const spins = 900_000_000;
  const base = { "go.mod": "module example.com/deep\n\ngo 1.20\n", "deep.go": source(spins) };
  const workload = [
    "bench/main.go",
    'package main\n\nimport (\n\t"fmt"\n\n\t"example.com/deep"\n)\n\nfunc main() {\n\tfmt.Println(deep.Answer())\n}\n',
  ] as const;
  const same = judge("go-version", base, { "deep.go": source(spins, swap) }, workload);
  expect([same.same, same.fast], same.said).toEqual([true, false]);
  rmSync(join(folder, "check"), { recursive: true });
  const faster = judge("go-version", base, { "deep.go": source(spins / 4) }, workload);
  expect([faster.same, faster.fast], faster.said).toEqual([true, true]);
}, 240_000);
