/** The GPU check's own parts, and its plan, without a GPU. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { agreement, planLines, readOptions, serverCommand } from "../../infra/gpu-check/options.ts";
import { packageRoot } from "../../infra/stack/paths.ts";

const options = (...args: string[]) => readOptions(["--model", "/models/small", ...args], {}, "/home/me");

describe("the options", () => {
  it("say which model, and where Python is", () => {
    expect(options()).toMatchObject({
      model: "/models/small",
      lane: "/home/me/.cache/tadpole/gpu-path",
      updates: 2,
      dtype: "bfloat16",
      cpu: false,
    });
    expect(readOptions(["--model", "m"], { TADPOLE_GPU_PATH: "/opt/lane" }, "/home/me").lane).toBe(
      "/opt/lane",
    );
  });

  it.each([
    [["--updates", "0"], /^--updates 0: expected a whole number/],
    [["--dtype", "int8"], /^--dtype int8: expected bfloat16 or float32/],
    [["--modell", "x"], /--modell/],
  ])("refuse %j", (args, message) => {
    expect(() => options(...args)).toThrow(
      expect.objectContaining({ kind: "options", message: expect.stringMatching(message) }),
    );
  });

  it("need a model", () => {
    expect(() => readOptions([], {}, "/home/me")).toThrow(/^--model: expected the folder/);
  });
});

describe("the agreement of engine and trainer", () => {
  const engine = [[-1, -2], [-0.5]];

  it("is the mean and the greatest difference, within bounds by precision", () => {
    const trainer = [[-1.0005, -2], [-0.5]];
    expect(agreement(engine, trainer, "float32")).toMatchObject({ tokens: 3, agrees: true });
    const shifted = [[-2, -1], [-0.5]];
    expect(agreement(engine, shifted, "float32").agrees).toBe(false);
    expect(agreement(engine, shifted, "bfloat16")).toMatchObject({ max: 1, agrees: false });
    expect(agreement(engine, [[-1.02, -2], [-0.5]], "bfloat16").agrees).toBe(true);
  });

  it("is none where a number is missing or not finite", () => {
    expect(() => agreement(engine, [[-1], [-0.5]], "float32")).toThrow(/row 0: the engine sampled 2 tokens/);
    expect(agreement(engine, [[Number.NaN, -2], [-0.5]], "bfloat16").agrees).toBe(false);
  });
});

it("the server is started with the routes that publication needs, and room for the trainer", () => {
  const { args, env } = serverCommand(options());
  expect(env.VLLM_SERVER_DEV_MODE).toBe("1");
  expect(args.join(" ")).toMatch(/--logprobs-mode processed_logprobs.*--gpu-memory-utilization 0\.35/);
  expect(serverCommand(options("--cpu")).args).not.toContain("--gpu-memory-utilization");
});

it("--dry-run prints the plan and starts nothing", async () => {
  const script = join(packageRoot, "infra/gpu-check/main.ts");
  const args = [script, "--model", "/nowhere", "--updates", "3", "--dry-run"];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const plan = planLines(options("--updates", "3"), join(packageRoot, "services/trainers/torch"));
  expect(stdout.trim().split("\n")).toHaveLength(plan.length);
  expect(stdout).toMatch(/vllm serve \/nowhere .*\n3\. name the start weights.*\n4\. 3 times/);
});
