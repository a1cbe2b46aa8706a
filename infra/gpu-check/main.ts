/**
 * `node infra/gpu-check/main.ts --model DIR`: on a machine with one NVIDIA GPU and the Python environment installed, in under ten minutes: a real
 * inference server, the torch trainer, two updates of a small model; versions verified, agreement of log-probabilities printed. Ends with 0 where all of
 * it holds, 1 where something does not, 2 for bad options. `--dry-run` prints the plan; `--cpu` tries the same without a GPU.
 */
import { homedir } from "node:os";
import { CheckError, PACKAGE, planLines, readOptions } from "./options.ts";

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args, process.env, homedir());
  if (options.dryRun) {
    for (const line of planLines(options, PACKAGE)) console.log(line);
    return 0;
  }
  const { check } = await import("./check.ts");
  return (await check(options)) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error instanceof CheckError ? error.message : error);
  return error instanceof CheckError && error.kind === "options" ? 2 : 1;
});
