/** Rows of each dialect, made of a real package with a bug: imported, prepared and graded. The solution passes, doing nothing fails. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ImportFormat } from "../../core/formats.ts";
import type { FileChange } from "../../core/task.ts";
import {
  IMPORTERS,
  type ImportedTask,
  type PreparedImport,
  prepareImport,
} from "../../services/formats/index.ts";
import { createGrading, type GradingService } from "../../services/grading/index.ts";
import { connectDocker, createRuntime, type SandboxRuntime } from "../../services/sandbox/index.ts";
import { makeTaskImages, type TaskImages } from "../support/task-images.ts";

let folder: string;
let runtime: SandboxRuntime;
let grading: GradingService;
let images: TaskImages;
/** Images that preparing made. */
const pinned = new Set<string>();

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "tadpole-import-"));
  runtime = createRuntime("docker", { dataFolder: folder, nodePath: process.execPath });
  const reason = await runtime.unavailable();
  if (reason !== null) throw new Error(reason);
  grading = createGrading({ runtime });
  images = await makeTaskImages(folder, runtime);
}, 300_000);
afterAll(async () => {
  await grading?.close();
  for (const id of pinned) await connectDocker().docker.getImage(id).remove({ force: true });
  await images?.remove();
  rmSync(folder, { recursive: true, force: true });
});

async function prepare(imported: ImportedTask): Promise<PreparedImport> {
  const prepared = await prepareImport(imported, { dataFolder: folder, runtime });
  pinned.add(prepared.environment.image!.reference);
  return prepared;
}

async function importRow(format: ImportFormat, row: object): Promise<ImportedTask> {
  const path = join(folder, `${format}.jsonl`);
  writeFileSync(path, `${JSON.stringify(row)}\n`);
  for await (const result of IMPORTERS[format].read(path, {})) {
    if ("error" in result) throw result.error;
    return result.task;
  }
  throw new Error("no row");
}

const pullRequest = () => ({
  instance_id: "davidaurelio__hashids-python-1",
  repo: "davidaurelio/hashids-python",
  base_commit: "0".repeat(40),
  patch: images.patch,
  test_patch: images.testPatch,
  problem_statement: "Hashes with a minimal length are not those of other languages.",
  FAIL_TO_PASS: JSON.stringify(images.failToPass),
  PASS_TO_PASS: JSON.stringify(images.passToPass),
});

const PYTEST = "python3 -m pytest -rA -p no:cacheprovider --color=no";

/** As the dataset's generator writes it, but that this image has no conda. */
const evalScript = () => `#!/bin/bash
set -uxo pipefail
cd /testbed
git status
git checkout ${"0".repeat(40)} ${images.testFile}
git apply -v - <<'EOF_114329324912'
${images.testPatch}
EOF_114329324912
: '>>>>> Start Test Output'
${PYTEST} ${images.testFile}
: '>>>>> End Test Output'
git checkout ${"0".repeat(40)} ${images.testFile}
`;

const rows: readonly (readonly [name: string, format: ImportFormat, row: () => Promise<object>])[] = [
  [
    "SWE-bench with a script",
    "swe-bench",
    async () => ({
      ...pullRequest(),
      image: images.bad,
      eval_script: evalScript(),
      log_parser: "parse_log_pytest",
      eval_type: "pass_and_fail",
    }),
  ],
  [
    "SWE-smith",
    "swe-smith",
    async () => ({
      instance_id: "davidaurelio__hashids-python.1.func_1",
      repo: "swesmith/hashids",
      patch: images.bugPatch,
      FAIL_TO_PASS: images.failToPass,
      PASS_TO_PASS: images.passToPass,
      image_name: images.good,
      problem_statement: "",
    }),
  ],
  [
    "SWE-rebench",
    "swe-rebench",
    async () => ({
      ...pullRequest(),
      docker_image: images.bad,
      install_config: { test_cmd: PYTEST, log_parser: "parse_log_pytest", python: "3.11" },
    }),
  ],
  ["R2E-Gym", "r2e-gym", async () => r2eRow()],
];

/** Hidden tests outside the tree, a script that runs them, and the map of what it says of the fixed tree. */
async function r2eRow(): Promise<object> {
  const [tests] = images.tests as readonly [FileChange & { kind: "write" }];
  const file = (path: string, content: string): FileChange => ({
    kind: "write",
    path,
    content,
    encoding: "utf8",
  });
  const image = await images.derive(images.bad, [
    { ...tests, path: "/r2e_tests/test_1.py" },
    file("/testbed/run_tests.sh", `${PYTEST} r2e_tests\n`),
  ]);
  const names = [...images.failToPass, ...images.passToPass];
  const expected = Object.fromEntries(names.map((name) => [name.split("::").slice(1).join("."), "PASSED"]));
  const task = await importRow("swe-bench", {
    ...pullRequest(),
    image: images.bad,
    eval_script: "x",
    log_parser: "parse_log_pytest",
  });
  const { task: resolved } = await prepare(task);
  const [gold] = resolved.gold as readonly [FileChange & { kind: "write" }];
  return {
    repo_name: "hashids",
    commit_hash: "1".repeat(40),
    docker_image: image,
    problem_statement: "[ISSUE]\nHashes are not those of other languages.\n[/ISSUE]",
    expected_output_json: JSON.stringify(expected),
    parsed_commit_content: JSON.stringify({
      file_diffs: [{ header: { file: { path: gold.path } }, new_file_content: gold.content }],
    }),
  };
}

describe("a task of", () => {
  it.each(rows)(
    "%s passes with its solution, and fails without",
    async (_, format, row) => {
      expect(images.failToPass.length).toBeGreaterThan(0);
      expect(images.passToPass.length).toBeGreaterThan(10);
      const imported = await importRow(format, await row());
      const { environment, task } = await prepare(imported);
      expect((await prepare(imported)).task.id).toBe(task.id);
      const grade = (change: readonly FileChange[]) =>
        grading.grade({ environment, task, change, mode: "cold", reuse: false });
      const solved = await grade(task.gold);
      expect([solved.outcome, solved.rule, solved.offending]).toEqual(["passed", "all-passed", []]);
      const undone = await grade([]);
      expect([undone.outcome, undone.rule]).toEqual([
        "failed",
        format === "r2e-gym" ? "statuses-differ" : "fail-to-pass-failed",
      ]);
    },
    180_000,
  );
});

/** A Harbor folder whose solution is a script. */
function harborFolder(): string {
  const path = join(folder, "harbor-task");
  const put = (name: string, content: string) => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), content);
  };
  put("task.toml", `schema_version = "1.4"\n[environment]\ndocker_image = "${images.bad}"\n`);
  put("instruction.md", "Hashes with a minimal length are not those of other languages.\n");
  put("solution/solve.sh", "sed -i 's|len(alphabet) // 3|len(alphabet) // 2|' hashids.py\n");
  const tests = images.tests[0] as FileChange & { kind: "write" };
  put("tests/test_hidden.py", tests.content);
  put(
    "tests/test.sh",
    `cd /testbed && ${PYTEST} /tests/test_hidden.py && reward=1 || reward=0\necho "{\\"reward\\": $reward}" > /logs/verifier/reward.json\n`,
  );
  return path;
}

it("a Harbor task whose solution is a script passes with what it changes, and fails without", async () => {
  const results = [];
  for await (const result of IMPORTERS.harbor.read(harborFolder(), {})) results.push(result);
  const [result] = results;
  if (result === undefined || "error" in result) throw result?.error ?? new Error("no task");
  const { environment, task } = await prepare(result.task);
  expect(task.gold.map(({ path }) => path)).toEqual(["hashids.py"]);
  const grade = (change: readonly FileChange[]) =>
    grading.grade({ environment, task, change, mode: "cold", reuse: false });
  expect(await grade(task.gold)).toMatchObject({ outcome: "passed" });
  expect(await grade([])).toMatchObject({ outcome: "failed", rule: "fail-to-pass-failed" });
}, 180_000);

describe("what does not fit", () => {
  it("is named: an image that the daemon has not", async () => {
    const row = {
      ...pullRequest(),
      docker_image: "tadpole-none:1",
      install_config: { test_cmd: PYTEST, log_parser: "pytest" },
    };
    const imported = await importRow("swe-rebench", row);
    await expect(prepareImport(imported, { dataFolder: folder, runtime })).rejects.toThrow(/tadpole-none:1/);
  });

  it("is named: a solution for another tree, with file and hunk", async () => {
    const row = {
      ...pullRequest(),
      docker_image: images.good,
      install_config: { test_cmd: PYTEST, log_parser: "pytest" },
    };
    const imported = await importRow("swe-rebench", row);
    await expect(prepareImport(imported, { dataFolder: folder, runtime })).rejects.toMatchObject({
      kind: "apply",
      field: "patch",
      message: expect.stringMatching(/hashids\.py, hunk 1: its lines are not in the file/),
    });
  });
});
