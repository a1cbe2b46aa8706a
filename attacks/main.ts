/** `npm run attacks`: every attack, really tried in every runtime. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createGrading } from "../services/grading/index.ts";
import { createRuntime, type SandboxRuntime } from "../services/sandbox/index.ts";
import { ATTACKS } from "./list/index.ts";
import { openPlaces } from "./places.ts";
import { proveOnHost, type Result, runAttacks } from "./run.ts";
import { openHost } from "./surroundings.ts";
import { makeTargets } from "./targets.ts";

const RUNTIMES = ["process", "docker"] as const;

const HELP = `Usage: npm run attacks -- [options]

Tries every attack in a real sandbox, on a real task, graded as any change is; first, once, where nothing defends, to show that it is one.

Options:
  --runtime R    process, docker or all (default all)
  --only NAME    attacks of this name or hack code; may be repeated
  --data FOLDER  where environments are prepared, kept for the next time (default: a new folder, removed at the end)
  --no-controls  leave out the tries where nothing defends
  --json         print the results as JSON
  -h, --help     show this

Exit codes: 0 every attack ended as declared, 1 one did not, 2 bad input or a runtime that cannot run here.
`;

class UsageError extends Error {
  readonly kind = "usage";
}

function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      runtime: { type: "string", default: "all" },
      only: { type: "string", multiple: true, default: [] },
      controls: { type: "boolean", default: true },
      data: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const runtimes = RUNTIMES.filter((name) => values.runtime === "all" || values.runtime === name);
  if (runtimes.length === 0)
    throw new UsageError(`--runtime ${JSON.stringify(values.runtime)}: expected process, docker or all`);
  for (const wanted of values.only)
    if (!ATTACKS.some(({ name, code }) => wanted === name || wanted === code))
      throw new UsageError(`--only ${JSON.stringify(wanted)}: no attack and no hack code of that name`);
  const isWanted = ({ name, code }: (typeof ATTACKS)[number]) =>
    values.only.length === 0 || values.only.includes(name) || values.only.includes(code);
  return { ...values, runtimes, attacks: ATTACKS.filter(isWanted) };
}

async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const scratch = mkdtempSync(join(tmpdir(), "tadpole-attacks-"));
  const dataFolder = options.data ?? scratch;
  const host = await openHost();
  try {
    const runtimeOf = (name: SandboxRuntime["name"]) =>
      createRuntime(name, { dataFolder: scratch, nodePath: process.execPath });
    const runtimes = options.runtimes.map(runtimeOf);
    for (const runtime of runtimes) {
      const reason = await runtime.unavailable();
      if (reason !== null) throw new UsageError(`runtime ${runtime.name}: ${reason}`);
    }
    const fields = runtimes.map((runtime) => ({ runtime, grading: createGrading({ runtime }) }));
    const results: Result[] = [];
    try {
      const { attacks } = options;
      const targets = await makeTargets(new Set(attacks.map(({ on }) => on)), dataFolder, fields[0]!.grading);
      const controls = options.controls ? runtimeOf("process") : null;
      const proven = await proveOnHost(attacks, { host, targets, controls });
      const say = options.json ? () => {} : (result: Result) => console.log(lineOf(result));
      const shared = { host, targets, places: openPlaces() };
      // Whatever has a control shows it once, where the first runtime's try is about to be made.
      const running = fields.map((field, index) =>
        runAttacks(attacks, { ...shared, ...field, controls: index === 0 ? controls : null }, proven, say),
      );
      results.push(...(await Promise.all(running)).flat());
    } finally {
      await Promise.all(fields.map(({ grading }) => grading.close()));
    }
    const broken = results.filter(({ ending }) => ending === "broken");
    if (options.json) console.log(JSON.stringify(results, null, 2));
    else console.log(`${results.length} attacks, ${broken.length} not as declared`);
    return broken.length === 0 ? 0 : 1;
  } finally {
    await host.close();
    rmSync(scratch, { recursive: true, force: true });
  }
}

const lineOf = ({ runtime, name, code, ending, detail }: Result): string =>
  `${ending === "broken" ? "✗" : "✓"} ${runtime.padEnd(7)} ${name.padEnd(28)} ${code.padEnd(21)} ${ending}: ${detail}`;

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isInput =
    error instanceof UsageError || (error as { code?: string }).code?.startsWith("ERR_PARSE_ARGS");
  console.error((error as Error).message);
  process.exitCode = isInput ? 2 : 1;
}
