/** `worker`: one more worker for the workflows of this checkout's code, so that experiments pinned to it can end. */
import type { Command } from "commander";
import { dataFolder, startExtraWorker } from "../../../infra/stack/index.ts";
import { examples, wantsJson } from "../command.ts";
import { exitCodes } from "../errors.ts";
import { writeJson, writeLine } from "../output.ts";

export function register(program: Command): void {
  const command = program
    .command("worker")
    .description(
      "run a worker of this checkout's code beside the running stack, for experiments pinned to it (docs/upgrading.md); Ctrl-C ends it",
    )
    .action(async (_options: unknown, self: Command) => {
      const worker = startExtraWorker(dataFolder());
      let last = "";
      worker.stderr?.on("data", (bytes: Buffer) => {
        last = bytes.toString("utf8").trim().split("\n").at(-1) || last;
      });
      worker.once("message", (message: { readonly build?: string }) => {
        if (wantsJson(self)) writeJson({ build: message.build ?? null, pid: worker.pid });
        else writeLine(`Serves what is pinned to build ${message.build}. Ctrl-C ends it.`);
      });
      for (const signal of ["SIGINT", "SIGTERM"] as const)
        process.once(signal, () => void worker.kill("SIGTERM"));
      const code = await new Promise<number | null>((resolve, reject) => {
        worker.once("error", reject);
        worker.once("exit", resolve);
      });
      if (code === 0) return;
      process.exitCode = exitCodes.failed;
      process.stderr.write(`tadpole: the worker ended (${code ?? "killed"})${last && `: ${last}`}\n`);
    });
  examples(command, ["worker"]);
}
