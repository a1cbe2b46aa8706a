/** `env verify` without what its environments run in: told at once, and nothing is said of the environments. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { verifyAll } from "../../apps/cli/env-verify.ts";
import { loadCatalogue } from "../../services/environments/index.ts";
import { createRuntime } from "../../services/sandbox/index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tadpole-env-verify-"));
  vi.stubEnv("DOCKER_HOST", `unix://${folder}/no.sock`);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

it("ends with the daemon's error where none answers", async () => {
  const runtime = createRuntime("docker", { dataFolder: folder, nodePath: process.execPath });
  const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    const runTests = () => Promise.reject(new Error("no test is run"));
    const request = { names: ["minimist"], catalogue: await loadCatalogue(), repeats: 1, json: false };
    await expect(verifyAll(() => ({ dataFolder: folder, runTests, runtime }), request)).rejects.toMatchObject(
      { kind: "unavailable", message: expect.stringContaining("no.sock") },
    );
    expect(written).not.toHaveBeenCalled();
  } finally {
    written.mockRestore();
  }
});
