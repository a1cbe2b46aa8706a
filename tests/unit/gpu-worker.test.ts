/** What a GPU worker finds on its machine, and what it refuses. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { gpuWorkerEnvironment } from "../../infra/stack/index.ts";
import { findDevices, parseDevices, visibleDevices } from "../../services/trainers/devices.ts";
import { trainerChoice, trainerProgram } from "../../workers/gpu-trainer.ts";

const CSV = "0, GPU-1a2b, NVIDIA H200, 143771\n1, GPU-9f00, NVIDIA H200, 143771\n";
const [first, second] = parseDevices(CSV);

const folder = mkdtempSync(join(tmpdir(), "tadpole-devices-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program of that name that answers as the driver's does. */
function nvidiaSmi(script: string): NodeJS.ProcessEnv {
  const file = join(folder, "nvidia-smi");
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return { PATH: folder };
}

describe("devices", () => {
  it("are read as the driver lists them", async () => {
    const { devices, problem } = await findDevices(nvidiaSmi(`printf '%s' '${CSV}'`));
    expect(problem).toBeNull();
    expect(devices).toEqual([
      { index: 0, uuid: "GPU-1a2b", name: "NVIDIA H200", memoryMb: 143_771 },
      { index: 1, uuid: "GPU-9f00", name: "NVIDIA H200", memoryMb: 143_771 },
    ]);
  });

  it.each([
    ["nvidia-smi is not on PATH", { PATH: "/nowhere" }],
    ["nvidia-smi lists no device", () => nvidiaSmi("echo 'No devices were found'")],
    [
      "nvidia-smi failed: couldn't communicate with the NVIDIA driver",
      () => nvidiaSmi(`echo "couldn't communicate with the NVIDIA driver"; exit 9`),
    ],
    [
      "CUDA_VISIBLE_DEVICES=-1 shows none of them",
      () => ({ ...nvidiaSmi(`printf '%s' '${CSV}'`), CUDA_VISIBLE_DEVICES: "-1" }),
    ],
  ])("are none: %s", async (problem, env) => {
    expect(await findDevices(typeof env === "function" ? env() : env)).toEqual({ devices: [], problem });
  });

  it("are those that CUDA shows, in the order given, up to the first that is none", () => {
    const all = [first!, second!];
    expect(visibleDevices(all, undefined)).toEqual(all);
    expect(visibleDevices(all, "1,0")).toEqual([second, first]);
    expect(visibleDevices(all, "GPU-9f")).toEqual([second]);
    expect(visibleDevices(all, "0,7,1")).toEqual([first]);
    expect(visibleDevices(all, "")).toEqual([]);
  });
});

describe("the trainer of a worker", () => {
  it("is the embedded policy's unless another is named", () => {
    expect(trainerChoice({})).toBeNull();
    const env = { TADPOLE_TRAINER: "torch", TADPOLE_TRAINER_SIZE: "4b", TADPOLE_TRAINER_CPU: "1" };
    expect(trainerChoice(env)).toEqual({ kind: "torch", size: "4b", cpu: true, drain: false });
  });

  it.each([
    [{ TADPOLE_TRAINER: "jax" }, 'TADPOLE_TRAINER: expected nano, torch or slime, got "jax"'],
    [{ TADPOLE_TRAINER: "torch", TADPOLE_TRAINER_SIZE: "4 B" }, "TADPOLE_TRAINER_SIZE: expected lower-case"],
  ])("is refused: %j", (env, message) => {
    expect(() => trainerChoice(env)).toThrow(message);
  });

  const choice = { kind: "torch", size: "any", cpu: true, drain: false } as const;

  it("is run by the Python that has it, with the package of this checkout", () => {
    const { command, env } = trainerProgram(choice, { TADPOLE_TRAINER_PYTHON: process.execPath });
    expect(command).toEqual([process.execPath, "-m", "tadpole_torch", "serve", "--cpu"]);
    expect(env.PYTHONPATH).toMatch(/services\/trainers\/torch$/);
  });

  it("may be a program of one's own", () => {
    const { command } = trainerProgram(choice, { TADPOLE_TRAINER_COMMAND: "/opt/trainer --fast" });
    expect(command).toEqual(["/opt/trainer", "--fast"]);
  });

  it("that is slime needs a program", () => {
    expect(() => trainerProgram({ ...choice, kind: "slime" }, {})).toThrow(
      /TADPOLE_TRAINER_COMMAND names one/,
    );
  });

  it("says where Python was looked for", () => {
    expect(() => trainerProgram(choice, { TADPOLE_GPU_PATH: "/nowhere" })).toThrow(
      "no Python for the trainer at /nowhere/venv/bin/python: npm run gpu-path:install makes one",
    );
  });
});

describe("the environment of a GPU worker", () => {
  const options = { trainer: "torch", size: "4b", cpu: false, drain: true };

  it("needs the addresses of a stack, and names the one that is missing", () => {
    const env = { TEMPORAL_ADDRESS: "temporal:7233" };
    expect(() => gpuWorkerEnvironment(folder, options, env)).toThrow(
      /^DATABASE_URL: expected the addresses of the stack to work for, or a stack that runs in/,
    );
  });

  it("is the caller's, with what the command was told", () => {
    const env = { TEMPORAL_ADDRESS: "temporal:7233", DATABASE_URL: "postgres://db/tadpole" };
    expect(gpuWorkerEnvironment(folder, options, env)).toEqual({
      ...env,
      TADPOLE_DATA: folder,
      TADPOLE_TRAINER: "torch",
      TADPOLE_TRAINER_SIZE: "4b",
      TADPOLE_TRAINER_CPU: "",
      TADPOLE_TRAINER_DRAIN: "1",
    });
  });
});
