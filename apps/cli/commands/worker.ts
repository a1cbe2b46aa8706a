/** `worker gpu | pinned`: workers beside those of the stack: one that trains, and one for experiments pinned to this checkout's code. */
import type { ChildProcess } from "node:child_process";
import { type Command, Option } from "commander";
import { dataFolder, startExtraWorker, startGpuWorker } from "../../../infra/stack/index.ts";
import { examples, wantsJson } from "../command.ts";
import { exitCodes, UsageError } from "../errors.ts";
import { formatTable, writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const worker = program.command("worker").description("run a worker beside the running stack, until Ctrl-C");
  registerGpu(worker);
  registerPinned(worker);
}

interface GpuOptions {
  readonly trainer: "torch" | "slime";
  readonly size: string;
  readonly cpu?: boolean;
  readonly drain?: boolean;
  readonly devices?: boolean;
}

function registerGpu(worker: Command): void {
  const gpu = worker
    .command("gpu")
    .description(
      "train on this machine's NVIDIA devices: makes the updates of experiments with trainer.kind and trainer.size as given (docs/gpu-worker.md)",
    )
    .addOption(
      new Option("--trainer <kind>", "what trains: PyTorch, or slime (experimental)")
        .choices(["torch", "slime"])
        .default("torch"),
    )
    .option("--size <name>", "the trainer.size of the experiments to serve", "any")
    .option("--cpu", "train on the processor: slow, for tests and small models")
    .option("--drain", "on a request to end, finish and record the update in hand first")
    .option("--devices", "only list this machine's devices")
    .action(async (options: GpuOptions, self: Command) => {
      const { findDevices } = await import("../../../services/trainers/index.ts");
      const { devices, problem } = await findDevices();
      if (options.devices) {
        if (wantsJson(self)) return writeJson({ devices, problem });
        if (problem !== null) return writeLine(`No NVIDIA device: ${problem}.`);
        return writeLine(
          formatTable(devices, [
            { title: "index", align: "right", value: ({ index }) => index },
            { title: "name", value: ({ name }) => name },
            { title: "memory MB", align: "right", value: ({ memoryMb }) => memoryMb },
          ]),
        );
      }
      if (problem !== null && !options.cpu)
        throw new UsageError(`no NVIDIA device: ${problem}; --cpu trains on the processor`);
      const { trainer, size, cpu = false, drain = false } = options;
      const child = startGpuWorker(dataFolder(), { trainer, size, cpu, drain });
      child.on("message", ({ serves, devices = [] }: { serves?: string; devices?: readonly string[] }) => {
        if (serves === undefined) return;
        if (wantsJson(self)) return writeJson({ queue: serves, devices, pid: child.pid });
        const where = devices.length === 0 ? "the processor" : devices.join(", ");
        writeLine(`Serves ${serves} on ${where}. Ctrl-C ends it.`);
      });
      await untilItEnds(child);
    });
  examples(gpu, [
    "worker gpu --trainer torch",
    "worker gpu --trainer torch --size 4b --drain",
    "worker gpu --cpu",
    "worker gpu --devices --json",
  ]);
}

function registerPinned(worker: Command): void {
  const pinned = worker
    .command("pinned", { isDefault: true })
    .description(
      "run the workflows of experiments that are pinned to this checkout's code (docs/upgrading.md)",
    )
    .action(async (_options: unknown, self: Command) => {
      const child = startExtraWorker(dataFolder());
      child.once("message", (message: { readonly build?: string }) => {
        if (wantsJson(self)) writeJson({ build: message.build ?? null, pid: child.pid });
        else writeLine(`Serves what is pinned to build ${message.build}. Ctrl-C ends it.`);
      });
      await untilItEnds(child);
    });
  examples(pinned, ["worker pinned"]);
}

/** Hands requests to end on; what the worker said last is the reason where it ends otherwise. */
async function untilItEnds(child: ChildProcess): Promise<void> {
  let last = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    last = bytes.toString("utf8").trim().split("\n").at(-1) || last;
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void child.kill("SIGTERM"));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code === 0) return;
  process.exitCode = code === exitCodes.badInput ? exitCodes.badInput : exitCodes.failed;
  process.stderr.write(`tadpole: the worker ended (${code ?? "killed"})${last && `: ${last}`}\n`);
}
