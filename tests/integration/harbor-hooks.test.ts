/** A Harbor task whose collect hook runs the agent's code, judged in the environment's own image: the hook reaches no file of the verifier's. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FileChange } from "../../core/task.ts";
import type { PreparedImport } from "../../services/formats/index.ts";
import type { GradingService } from "../../services/grading/index.ts";
import { createRuntime, ensureBaseImage } from "../../services/sandbox/index.ts";
import { type HarborImport, openHarborImport } from "../support/harbor-import.ts";

const probe = createRuntime("docker", {
  dataFolder: join(tmpdir(), "harbor-hooks"),
  nodePath: process.execPath,
});
/** Left out where no daemon answers, but not in CI. */
const reason = process.env.CI === "true" ? null : await probe.unavailable();

let folder: string;
let grading: GradingService;
let prepared: PreparedImport;
let opened: HarborImport | undefined;

const filesOn = (base: string): Readonly<Record<string, string>> => ({
  "instruction.md": "Let sum.sh print the sum.\n",
  "task.toml": `schema_version = "1.4"
artifacts = ["/app/out/report"]
[verifier]
environment_mode = "separate"
[[verifier.collect]]
command = "mkdir -p /logs/artifacts out/report; bash sum.sh 2 3 > /logs/artifacts/five; echo made > out/report/made"
`,
  "environment/Dockerfile": `FROM ${base}\nWORKDIR /app\nCOPY sum.sh .\n`,
  "environment/sum.sh": "echo $(($1 - $2))\n",
  "solution/solve.sh": "sed -i 's/ - / + /' sum.sh && touch solved\n",
  "tests/test.sh": `echo 0 > /logs/verifier/reward.txt
[ -e /app/solved ] && [ "$(cat /app/out/report/made)" = made ] && [ ! -e /tmp/report ] || exit
[ "$(cat /logs/artifacts/five)" = 5 ] && echo 1 > /logs/verifier/reward.txt
`,
});

beforeAll(async () => {
  if (reason !== null) return;
  folder = mkdtempSync(join(tmpdir(), "harbor-hooks-"));
  const made = join(folder, "own");
  for (const [name, content] of Object.entries(filesOn(await ensureBaseImage()))) {
    mkdirSync(dirname(join(made, name)), { recursive: true });
    writeFileSync(join(made, name), content);
  }
  opened = await openHarborImport(made, folder);
  ({ prepared, grading } = opened);
}, 300_000);
afterAll(async () => {
  if (reason !== null) return;
  await opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});
const solved = write("solved", "");
const CHEAT = "echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh";

describe.skipIf(reason !== null)("a collect hook beside a verifier without an image of its own", () => {
  it.each<[what: string, change: () => readonly FileChange[], outcome: string]>([
    ["the reference solution", () => prepared.task.gold, "passed"],
    ["nothing", () => [], "failed"],
    [
      "a verifier overwritten",
      () => [solved, write("sum.sh", `mkdir -p /tests; ${CHEAT}; echo 7\n`)],
      "failed",
    ],
    [
      "a process that goes on overwriting it",
      () => [
        solved,
        write("sum.sh", `(setsid sh -c "while :; do ${CHEAT}; done" >/dev/null 2>&1 &); echo 7\n`),
      ],
      "failed",
    ],
    [
      "a folder of the tree that is a link out of it",
      () => [write("sum.sh", "echo 5\n"), solved, { kind: "symlink", path: "out", target: "../tmp" }],
      "passed",
    ],
  ])(
    "%s",
    async (_, change, outcome) => {
      const { environment, task } = prepared;
      const request = { environment, task, change: change(), mode: "cold", reuse: false } as const;
      const verdict = await grading.grade(request);
      expect([verdict.outcome, verdict.offending]).toEqual([outcome, outcome === "passed" ? [] : ["reward"]]);
    },
    60_000,
  );
});
