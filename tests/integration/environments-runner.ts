/** A small cold runner for the tests of preparation: each test file by a new node, in one sandbox. */
import { join } from "node:path";
import type { TestStatus } from "../../core/task.ts";
import type { RunTests } from "../../services/environments/index.ts";
import { createProcessRuntime } from "../../services/sandbox/index.ts";

/** Statuses by `<file> > <test> > <assertion>#<ordinal>`, and whether the plan line was met. */
function readTap(file: string, text: string): { statuses: Record<string, TestStatus>; complete: boolean } {
  const statuses: Record<string, TestStatus> = {};
  const counts = new Map<string, number>();
  let test = "";
  let results = 0;
  let plan = -1;
  for (const line of text.split("\n")) {
    if (line.startsWith("# ")) test = line.slice(2);
    const planned = /^1\.\.(\d+)$/.exec(line);
    if (planned !== null) plan = Number(planned[1]);
    const result = /^(not )?ok \d+ ?(.*)$/.exec(line);
    if (result === null) continue;
    results++;
    const name = `${file} > ${test} > ${result[2]}`;
    const ordinal = (counts.get(name) ?? 0) + 1;
    counts.set(name, ordinal);
    statuses[`${name}#${ordinal}`] = result[1] === undefined ? "passed" : "failed";
  }
  return { statuses, complete: plan === results };
}

export function createTestRunner(folder: string): RunTests {
  const runtime = createProcessRuntime({ root: join(folder, "sandboxes"), nodePath: process.execPath });
  let runs = 0;
  return async (request) => {
    const { environment } = request;
    const sandbox = await runtime.create(
      {
        root: environment.root,
        overlay: request.overlay,
        mounts: [{ source: environment.modules, target: "/repo/node_modules" }],
        limits: request.limits,
        env: {},
      },
      { experiment: "test", slot: `run-${runs++}`, attempt: 0, fence: "", deadline: Date.now() + 600_000 },
    );
    try {
      const statuses: Record<string, TestStatus> = {};
      const exitCodes: Record<string, number | null> = {};
      let log = "";
      let complete = true;
      let cpuSeconds = 0;
      let wallSeconds = 0;
      for (const file of request.files ?? environment.entry.tests) {
        const done = await sandbox.exec(["node", file], {
          timeoutSeconds: request.wallSeconds,
          cpuSeconds: request.cpuSeconds,
          outputBytes: 8_000_000,
        });
        const text = Buffer.from(done.stdout).toString("utf8");
        const report = readTap(file, text);
        Object.assign(statuses, report.statuses);
        complete &&= report.complete;
        exitCodes[file] = done.exitCode;
        cpuSeconds += done.cpuSeconds;
        wallSeconds += done.wallSeconds;
        log += text + Buffer.from(done.stderr).toString("utf8");
      }
      return {
        report: { statuses, complete },
        exitCodes,
        ended: complete,
        outOfMemory: false,
        cpuSeconds,
        wallSeconds,
        treeHash: await sandbox.treeHash(),
        log,
      };
    } finally {
      await sandbox.destroy();
    }
  };
}
