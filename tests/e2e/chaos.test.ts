/** A small chaos run as a user starts it: every process of the stack killed once, and the record equal. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ChaosReport } from "../../chaos/compare.ts";
import { packageRoot } from "../../infra/stack/index.ts";

function chaos(...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(packageRoot, "chaos/main.ts"), ...args]);
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (bytes) => {
      stdout += bytes;
    });
    child.stderr.on("data", (bytes) => {
      stderr += bytes;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}

describe("chaos", { timeout: 900_000 }, () => {
  it("ends with an equal record and clean hands when every process is killed once", async () => {
    const experiment = join(packageRoot, "tests/support/smallest.yaml");
    const { code, stdout, stderr } = await chaos(
      ...["--seed", "1", "--kills", "6", "--experiment", experiment, "--json"],
    );
    const report = JSON.parse(stdout || `{"problems":[${JSON.stringify(stderr)}]}`) as ChaosReport;
    expect(report.problems).toEqual([]);
    expect(report.kills).toEqual({ temporal: 1, postgres: 1, policy: 1, orchestrate: 1, sandbox: 1, gpu: 1 });
    expect(report.equal).toBe(true);
    expect(report.disturbed.rollouts).toMatchObject({ lost: 0, duplicated: 0 });
    expect(code).toBe(0);
  });

  it("refuses bad input with one line and exit code 2", async () => {
    for (const args of [
      ["--kills", "-1"],
      ["--outage", "gpu:5"],
      ["--experiment", "no/such.yaml"],
      ["--what"],
      ["sandboxes", "--live", "0"],
      ["sandboxes", "--runtime", "vm"],
    ]) {
      const { code, stdout, stderr } = await chaos(...args);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/^chaos: [^\n]+\n$/);
    }
  });
});
