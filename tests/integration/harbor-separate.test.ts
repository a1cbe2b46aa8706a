/** A Harbor task whose verifier has an image of its own, as `harbor init` makes them: built, pinned, graded on what is collected alone. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse, stringify } from "smol-toml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { importsPage, importTasks, verifyImport } from "../../apps/control/index.ts";
import type { FileChange } from "../../core/task.ts";
import type { PreparedImport } from "../../services/formats/index.ts";
import { evidenceOf, type GradingService } from "../../services/grading/index.ts";
import { createRuntime, ensureBaseImage } from "../../services/sandbox/index.ts";
import { getJson, getTask } from "../../services/store/index.ts";
import { harborPackage, installHarbor, runHarbor } from "../support/harbor.ts";
import { type HarborImport, openHarborImport } from "../support/harbor-import.ts";
import { openTestRecord } from "../support/open-record.ts";

const probe = createRuntime("docker", {
  dataFolder: join(tmpdir(), "harbor-separate"),
  nodePath: process.execPath,
});
/** Left out where no daemon answers, but not in CI. */
const reason = process.env.CI === "true" ? null : await probe.unavailable();
const inDocker = describe.skipIf(reason !== null);

let folder: string;
let grading: GradingService;
let prepared: PreparedImport;
let opened: HarborImport | undefined;

const FILES = {
  "instruction.md": "Let sum.sh print the sum, and write the answer into out/.\n",
  "environment/sum.sh": "echo $(($1 - $2))\n",
  "solution/solve.sh":
    "sed -i 's/ - / + /' sum.sh\nmkdir -p out && echo 42 > out/answer && echo x > out/a.log\n",
  "tests/answer": "42\n",
  "tests/test.sh": `echo 0 > /logs/verifier/reward.txt
[ "$(pwd) $MODE" = "/app strict" ] || exit
[ ! -e /app/sum.sh ] && [ ! -e /app/out/a.log ] && [ ! -e /app/out/stale ] || exit
[ "$(cat /logs/artifacts/five)" = 5 ] || exit
cmp /app/out/answer /tests/answer && echo 1 > /logs/verifier/reward.txt
`,
};

/** By Harbor's command line where this machine's Python runs it, else as it writes it. */
function initialised(): string {
  const made = join(folder, "own");
  const put = (name: string, content: string) => {
    mkdirSync(dirname(join(made, name)), { recursive: true });
    writeFileSync(join(made, name), content);
  };
  if (harborPackage().whole) {
    installHarbor();
    const args = ["init", "--task", "org/own", "--output-dir", folder, "--no-pytest"];
    runHarbor("import sys; from harbor.cli.main import app; app(sys.argv[1:])", args);
  } else {
    put("task.toml", 'schema_version = "1.4"\n\n[verifier]\nenvironment_mode = "separate"\n');
    put("environment/Dockerfile", "FROM ubuntu:24.04\n\nWORKDIR /app");
    put("tests/Dockerfile", "FROM ubuntu:24.04\n\nWORKDIR /app\n\nCOPY . /tests/\n");
  }
  for (const [name, content] of Object.entries(FILES)) put(name, content);
  return made;
}

/** No registry is asked: both images stand on one that is here. Nothing else of what was made is another. */
function adapted(made: string, base: string): void {
  const rewrite = (name: string, change: (text: string) => string) =>
    writeFileSync(join(made, name), change(readFileSync(join(made, name), "utf8")));
  const onBase = (text: string) => text.replace(/^FROM .*$/m, `FROM ${base}`);
  rewrite("environment/Dockerfile", (text) => `${onBase(text)}\nCOPY sum.sh .\n`);
  rewrite(
    "tests/Dockerfile",
    (text) => `${onBase(text)}\nCOPY answer /app/out/stale\nRUN ln -s /tests /app/linked\n`,
  );
  const config = parse(readFileSync(join(made, "task.toml"), "utf8")) as { verifier: object };
  const hook = "mkdir -p /logs/artifacts && bash sum.sh 2 3 > /logs/artifacts/five";
  const adapted = {
    ...config,
    artifacts: [{ source: "/app/out", exclude: ["*.log"] }, "/app/linked"],
    verifier: {
      ...config.verifier,
      env: { MODE: "strict" },
      collect: [{ command: "exit 3" }, { command: hook }],
    },
  };
  writeFileSync(join(made, "task.toml"), stringify(adapted));
}

beforeAll(async () => {
  if (reason !== null) return;
  folder = mkdtempSync(join(tmpdir(), "harbor-separate-"));
  const made = initialised();
  adapted(made, await ensureBaseImage());
  opened = await openHarborImport(made, folder, {
    artifactLimits: { bytes: 1024 * 1024, entries: 1000 },
  });
  ({ prepared, grading } = opened);
}, 600_000);
afterAll(async () => {
  if (reason !== null) return;
  await opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

const grade = (change: readonly FileChange[]) => {
  const { environment, task } = prepared;
  return grading.grade({ environment, task, change, mode: "cold", reuse: false });
};
const write = (path: string, content: string): FileChange => ({
  kind: "write",
  path,
  content,
  encoding: "utf8",
});

inDocker("a verifier with an image of its own", () => {
  it("is pinned, and has its tests nowhere else", () => {
    const { verifier } = prepared.task;
    expect(verifier?.files).toEqual([]);
    expect(verifier?.box).toMatchObject({
      image: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      workdir: "/app",
    });
    expect(verifier?.box?.image).not.toBe(prepared.environment.image?.reference);
    expect(existsSync(join(prepared.environment.root, "answer"))).toBe(false);
  });

  it("is proven: the reference solution passes, and nothing fails; then its task is on record whole", async () => {
    const record = await openTestRecord();
    try {
      await importTasks(record, { format: "harbor", path: join(folder, "own") });
      const { items } = await importsPage(record, { filters: {} });
      const context = { ...record, stack: { dataFolder: join(folder, "stack") } };
      const proof = await verifyImport(context, items[0]!.key);
      expect(proof).toMatchObject({
        task: prepared.task.id,
        gold: { outcome: "passed", rule: "all-passed" },
        nothing: { outcome: "failed", rule: "fail-to-pass-failed" },
        proven: true,
      });
      const { artifact } = await getTask(record.db, proof.task);
      expect(await getJson(record.artifacts, artifact as never)).toEqual(prepared.task);
    } finally {
      await record.close();
    }
    expect(prepared.task.gold.map(({ path }) => path).sort()).toEqual(["out/a.log", "out/answer", "sum.sh"]);
  }, 180_000);

  const sum = write("sum.sh", "echo 5\n");
  it.each<[what: string, change: readonly FileChange[], rule: string]>([
    [
      "a link to what the verifier knows",
      [sum, { kind: "symlink", path: "out/answer", target: "/tests/answer" }],
      "fail-to-pass-failed",
    ],
    [
      "a folder that is a link to the verifier's",
      [sum, { kind: "symlink", path: "out", target: "../tests" }],
      "fail-to-pass-failed",
    ],
    [
      "a reward, and tests, of its own",
      [
        write(
          "sum.sh",
          "mkdir -p /logs/verifier /tests; echo 1 | tee /logs/verifier/reward.txt /tests/test.sh",
        ),
      ],
      "fail-to-pass-failed",
    ],
    [
      "a folder where the image has a link to its tests",
      [sum, write("linked/test.sh", "echo 1 > /logs/verifier/reward.txt\n")],
      "fail-to-pass-failed",
    ],
    [
      "more than a box is given",
      [write("sum.sh", "truncate -s 3M /logs/artifacts/large; echo 5"), write("out/answer", "42\n")],
      "patch-does-not-apply",
    ],
    [
      "a tar of its own that says nothing",
      [write("sum.sh", "rm /bin/sh /usr/bin/sh; echo 5"), write("out/answer", "42\n")],
      "patch-does-not-apply",
    ],
    [
      "pipes beside what is asked for",
      [write("sum.sh", "mkfifo /logs/artifacts/pipe out/pipe; echo 5"), write("out/answer", "42\n")],
      "all-passed",
    ],
  ])(
    "has a verdict on %s",
    async (_, change, rule) => {
      const { outcome, rule: found, offending } = await grade(change);
      expect([outcome, found], offending.join()).toEqual([rule === "all-passed" ? "passed" : "failed", rule]);
    },
    120_000,
  );

  it("is what the evidence rests on: another image, another verifier and another task", async () => {
    const { task, environment } = prepared;
    const verifier = task.verifier!;
    const box = { ...verifier.box!, image: environment.image!.reference };
    const other = { ...task, verifier: { ...verifier, box } };
    const request = { environment, task: other, change: task.gold, mode: "cold", reuse: false } as const;
    const verdict = await grading.grade(request);
    const { evidence } = verdict;
    const { task: same, verifier: before } = evidenceOf(task, evidence.tree);
    expect([evidence.task === same, evidence.verifier === before]).toEqual([false, false]);
    // The environment's image holds no tests.
    expect(verdict).toMatchObject({ outcome: "failed", rule: "no-tests-parsed" });
  }, 120_000);
});
