/** What doctor says of the parts that real models need: each missing one is named, with what mends it. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { experimentLooks, pythonLane } from "../../apps/cli/doctor-gpu.ts";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { parseExperimentFile } from "../../core/schemas/index.ts";

let root: string;
let engine: Server;
let url: string;
/** Whether the engine was started with VLLM_SERVER_DEV_MODE=1. */
let devMode = true;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "tadpole-doctor-"));
  engine = createServer((request, reply) => {
    const known = devMode && request.url === "/weight_info";
    reply.writeHead(known ? 200 : 404, { "content-type": "application/json" });
    reply.end(known ? '{"weight_version":"vllm-0123456789abcdef"}' : '{"detail":"Not Found"}');
  });
  await new Promise<void>((resolve) => void engine.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(engine.address() as { port: number }).port}`;
});
afterAll(() => {
  engine?.close();
  rmSync(root, { recursive: true, force: true });
});

function settings(urls: readonly string[], apiKeyEnv: string | null = null): ExperimentSettings {
  return parseExperimentFile(
    JSON.stringify({
      policy: { kind: "vllm", model: "/models/m", apiKeyEnv, engines: { urls } },
      trainer: { kind: "torch", size: "4b" },
      climb: { maxLag: 0 },
      environments: { train: ["minimist"] },
      selection: { set: { environments: ["minimist"], tasks: 1 } },
      evaluation: { sets: { held: { environments: ["minimist"], tasks: 1 } } },
    }),
    "doctor.yaml",
  );
}

describe("an experiment with engines", () => {
  it("is told which version each serves", async () => {
    devMode = true;
    const [[name, look] = []] = experimentLooks(settings([url]), null, {});
    expect(name).toBe("engine");
    expect(await look!()).toBe(`${url}, vllm, serves vllm-0123456789abcdef`);
  });

  it("is told of an engine without its routes, and of one that does not answer", async () => {
    devMode = false;
    const looks = experimentLooks(settings([url, "http://127.0.0.1:9"]), null, {});
    await expect(Promise.resolve(looks[0]![1]())).rejects.toThrow(/weight_info.*VLLM_SERVER_DEV_MODE=1/);
    await expect(Promise.resolve(looks[1]![1]())).rejects.toThrow(/127\.0\.0\.1:9/);
  });

  it("is told which worker has to be started, on which queue", async () => {
    const looks = new Map(experimentLooks(settings([url]), null, {}));
    await expect(Promise.resolve(looks.get("gpu workers")!())).rejects.toThrow(
      /nobody serves tadpole-gpu:torch:4b.*tadpole worker gpu --trainer torch --size 4b/,
    );
  });

  it("is told of keys that are not set, and never sees one", async () => {
    const looks = (env: NodeJS.ProcessEnv) =>
      new Map(experimentLooks(settings([url], "ENGINE_KEY"), null, env)).get("ENGINE_KEY")!;
    await expect((async () => looks({})())()).rejects.toThrow(/is not set/);
    expect(await looks({ ENGINE_KEY: "secret" })()).toBe("is set");
  });
});

describe("the Python of the torch trainer", () => {
  const made = (name: string, script: string) => {
    const folder = join(root, name);
    mkdirSync(join(folder, "venv/bin"), { recursive: true });
    writeFileSync(join(folder, "installed.json"), "{}");
    writeFileSync(join(folder, "venv/bin/python"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, "venv/bin/python"), 0o755);
    return { TADPOLE_GPU_PATH: folder };
  };

  it("is asked for its torch", async () => {
    expect(await pythonLane(made("good", "echo 2.13.0 0"))).toMatch(/^torch 2\.13\.0, no CUDA device, /);
    expect(await pythonLane(made("gpu", "echo 2.13.0 2"))).toMatch(/2 CUDA devices/);
  });

  it("is missing, or broken, with what makes it", async () => {
    await expect(pythonLane({ TADPOLE_GPU_PATH: join(root, "none") })).rejects.toThrow(
      /npm run gpu-path:install/,
    );
    const broken = made("broken", "echo 'ModuleNotFoundError: torch' >&2; exit 1");
    await expect(pythonLane(broken)).rejects.toThrow(/ModuleNotFoundError: torch.*npm run gpu-path:install/);
  });
});
