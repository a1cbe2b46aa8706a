/** `sandboxes list | reap`: what runs, or was left, in the sandboxes of this host. */
import type { Command } from "commander";
import { parseDuration } from "../../../core/duration.ts";
import type { Found, SandboxInfo, SandboxRuntime } from "../../../services/sandbox/index.ts";
import { examples, wantsJson } from "../command.ts";
import { UsageError } from "../errors.ts";
import { formatSeconds, formatTable, writeJson, writeLine } from "../output.ts";

interface ReapOptions {
  readonly experiment?: string;
  readonly grace: string;
  readonly all: boolean;
  readonly yes: boolean;
}

export function register(program: Command): void {
  const sandboxes = program
    .command("sandboxes")
    .description("look at the sandboxes of this host, of every runtime, and remove what is left of them");
  const list = sandboxes
    .command("list")
    .description("list them: whose they are, how old, until when, and whether they live")
    .action(async (_options: unknown, self: Command) => {
      const { listSandboxes } = await import("../../../services/sandbox/index.ts");
      const now = Date.now();
      const found = await listSandboxes(await runtimes(), now);
      if (wantsJson(self)) return writeJson(found);
      writeLine(found.sandboxes.length === 0 ? "no sandboxes" : tableOf(found.sandboxes, now));
      for (const line of problemLines(found)) writeLine(line);
    });
  examples(list, ["sandboxes list", "sandboxes list --json"]);
  const reap = sandboxes
    .command("reap")
    .description(
      "remove those without a live owner, with a lapsed lease or past their deadline; live ones stay, so it may run beside workers",
    )
    .option("--experiment <name>", "only this experiment's")
    .option(
      "--grace <duration>",
      "leave an orphan that its slot's next attempt may go on in for so long after it was first found",
      "0s",
    )
    .option(
      "--all",
      "live ones, too: what runs in them fails and is tried again; needs --yes while any lives",
      false,
    )
    .option("--yes", "confirms --all", false)
    .action(async (options: ReapOptions, self: Command) => {
      const { listSandboxes, reapSandboxes } = await import("../../../services/sandbox/index.ts");
      const { experiment, all, yes } = options;
      const graceMs = parseDuration(options.grace);
      if (graceMs === null)
        throw new UsageError(`--grace ${options.grace}: expected a duration, as in 90s, 15m, 6h`);
      const now = Date.now();
      const here = await runtimes();
      if (all && !yes) {
        const { sandboxes } = await listSandboxes(here, now);
        const live = sandboxes.filter(
          ({ state, identity }) =>
            state === "live" && (experiment === undefined || identity.experiment === experiment),
        );
        if (live.length > 0)
          throw new UsageError(
            `${live.length} of them live: what runs there would fail; --all --yes removes them all the same`,
          );
      }
      const only = experiment === undefined ? {} : { experiment };
      const reaped = await reapSandboxes(here, { now, graceMs, all, ...only });
      if (wantsJson(self)) return writeJson(reaped);
      if (reaped.removed.length > 0) writeLine(tableOf(reaped.removed, now));
      writeLine(`removed ${reaped.removed.length}, left ${reaped.left.length}`);
      for (const line of problemLines(reaped)) writeLine(line);
    });
  examples(reap, ["sandboxes reap", "sandboxes reap --experiment first --grace 3m", "sandboxes reap --all"]);
}

async function runtimes(): Promise<readonly SandboxRuntime[]> {
  const { hostRuntimes } = await import("../../../services/sandbox/index.ts");
  const { dataFolder, hostOptions } = await import("../../../infra/stack/index.ts");
  // Nothing is written: a full disk is where this is wanted most.
  return hostRuntimes(hostOptions(dataFolder()));
}

const problemLines = ({ problems }: Pick<Found, "problems">): string[] =>
  problems.map(({ runtime, reason }) => `${runtime}: not looked at: ${reason}`);

/** Ages and deadlines as seen at `now`, milliseconds since the epoch. */
export function tableOf(sandboxes: readonly SandboxInfo[], now: number): string {
  return formatTable(sandboxes, [
    { title: "name", value: ({ name }) => name },
    { title: "runtime", value: ({ runtime }) => runtime },
    { title: "experiment", value: ({ identity }) => identity.experiment },
    { title: "slot", value: ({ identity }) => identity.slot },
    { title: "attempt", align: "right", value: ({ identity }) => identity.attempt },
    { title: "age", align: "right", value: ({ created }) => formatSeconds((now - created) / 1000) },
    {
      title: "deadline",
      align: "right",
      value: ({ identity: { deadline } }) =>
        deadline > now ? `in ${formatSeconds((deadline - now) / 1000)}` : "past",
    },
    { title: "state", value: ({ state }) => state },
  ]);
}
