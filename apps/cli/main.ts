/** The command line. Every file in `commands/` is a command; this one reads the flags and decides the exit code. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Command, CommanderError } from "commander";
import { packageRoot } from "../../infra/stack/index.ts";
import type { CommandModule } from "./command.ts";
import { exitCodes, reportError } from "./errors.ts";

const order = [
  "run",
  "plan",
  "watch",
  "pause",
  "resume",
  "stop",
  "skip",
  "amend",
  "state",
  "events",
  "open",
  "replay",
  "diff",
  "regrade",
  "schedule",
  "list",
  "show",
  "report",
  "compare",
  "iteration",
  "evaluate",
  "evaluation",
  "policy",
  "engines",
  "task",
  "pool",
  "cost",
  "import",
  "imports",
  "rollout",
  "export",
  "api",
  "env",
  "up",
  "down",
  "status",
  "gc",
  "sandboxes",
  "worker",
  "doctor",
];

async function loadCommands(): Promise<readonly CommandModule[]> {
  const folder = join(import.meta.dirname, "commands");
  const rank = (file: string) => (order.indexOf(file.slice(0, -3)) + order.length + 1) % (order.length + 1);
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".ts"))
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
  return Promise.all(files.map((file) => import(join(folder, file)) as Promise<CommandModule>));
}

function version(): string {
  return (JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as { version: string }).version;
}

async function createProgram(): Promise<Command> {
  const program = new Command("tadpole")
    .description("Trains a small coding agent by reinforcement learning on tasks it makes for itself.")
    .version(version())
    .option("--json", "write one JSON value, and errors as JSON")
    .helpCommand(false)
    .addHelpText(
      "after",
      `
Exit codes: 0 done, 1 failed, 2 bad input.
The data folder is TADPOLE_DATA, else .tadpole in the checkout.

Examples:
  $ tadpole run quickstart --seed 7
  $ tadpole status --json`,
    );
  for (const { register } of await loadCommands()) register(program);
  everywhere(program);
  return program;
}

/** Commander's settings are not handed down to commands that are already there. */
function everywhere(command: Command): void {
  command.exitOverride().configureOutput({ outputError: () => {} });
  for (const child of command.commands) {
    if (!child.options.some(({ long }) => long === "--json")) child.option("--json", "write one JSON value");
    everywhere(child);
  }
}

/** Returns the exit code. */
async function main(args: readonly string[]): Promise<number> {
  const json = args.includes("--json");
  try {
    const program = await createProgram();
    if (args.length === 0) {
      program.outputHelp();
      return exitCodes.badInput;
    }
    await program.parseAsync(args, { from: "user" });
    return Number(process.exitCode ?? exitCodes.done);
  } catch (error) {
    // Help and version end by an error of Commander, too.
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done;
    if (error instanceof CommanderError && error.code === "commander.help") return exitCodes.badInput;
    return reportError(error, json);
  }
}

// A reader that stops early (`tadpole list | head`) is no failure.
for (const stream of [process.stdout, process.stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCodes.done);
    throw error;
  });

process.exitCode = await main(process.argv.slice(2));
