/** `tadpole status`: the stack's processes as they are now. */
import type { Command } from "commander";
import { dataFolder, type ProcessStatus, stackStatus } from "../../../infra/stack/index.ts";
import { examples, wantsJson } from "../command.ts";
import { exitCodes } from "../errors.ts";
import { type Column, formatPercent, formatTable, writeJson, writeLine } from "../output.ts";

const columns: readonly Column<ProcessStatus>[] = [
  { title: "process", value: ({ name }) => name },
  { title: "pid", align: "right", value: ({ pid }) => pid },
  { title: "state", value: ({ state }) => state },
  { title: "restarts", align: "right", value: ({ restarts }) => restarts },
  { title: "CPU s", align: "right", value: ({ cpuSeconds }) => cpuSeconds.toFixed(1) },
  { title: "MB", align: "right", value: ({ rssMb }) => (rssMb === null ? null : rssMb.toFixed(0)) },
  { title: "metrics", value: ({ metricsUrl }) => metricsUrl && new URL(metricsUrl).host },
];

export function register(program: Command): void {
  const command = program
    .command("status")
    .description("show the stack's processes; exit code 1 unless all of it serves")
    .action((_options: unknown, command: Command) => {
      const status = stackStatus(dataFolder());
      if (status.phase !== "running" || status.processes.some(({ problem }) => problem !== null))
        process.exitCode = exitCodes.failed;
      if (wantsJson(command)) return writeJson(status);
      writeLine(`stack     ${status.phase} in ${status.dataFolder}`);
      if (status.processes.length === 0) return;
      if (status.temporal) {
        const { address, namespace, ui } = status.temporal;
        writeLine(`temporal  ${address}, namespace ${namespace}${ui ? `, UI ${ui}` : ""}`);
      }
      if (status.postgres) writeLine(`postgres  ${status.postgres.host}/${status.postgres.database}`);
      writeLine(`policy    ${status.policyUrl}`);
      writeLine();
      writeLine(formatTable(status.processes, columns));
      writeLine();
      const { infrastructureShare, totalSeconds } = status.cpu;
      writeLine(
        `Temporal and Postgres took ${formatPercent(infrastructureShare)} of ${totalSeconds.toFixed(1)} CPU seconds.`,
      );
      for (const { name, problem, log } of status.processes)
        if (problem) writeLine(`\n${name}: ${problem}${log ? `\nlog: ${log}` : ""}`);
    });
  examples(command, ["status", "status --json"]);
}
