/** `npm run simulate`: how long a trainer waits, by scheduler, on a simulated node (docs/async.md). The same settings give the same bytes. */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { picture, renderJson, renderText } from "./render.ts";
import { parseNode, SimulateError } from "./settings.ts";
import { study } from "./study.ts";

const DEFAULT = new URL("./node.yaml", import.meta.url);
const HELP = `Usage: npm run simulate [-- [--settings FILE] [--set PATH=NUMBER]... [--svg FILE] [--json]]

Simulates the paper's node on one trace of trajectories: how long the trainer waits with lag 0, 1, 3 and in flight, and one step ahead.

Options:
  --settings FILE    a node's settings in place of bench/simulate/node.yaml, which says what each is
  --set PATH=NUMBER  one setting changed, as in trainer.tokensPerSecond=40000; may be repeated
  --svg FILE         write a picture of when the trainer is at work
  --json             write everything as JSON
  -h, --help         show this

Exit codes: 0 done, 2 bad input.
`;

function main(): void {
  const { values } = parseArgs({
    options: {
      settings: { type: "string" },
      set: { type: "string", multiple: true, default: [] },
      svg: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return void process.stdout.write(HELP);
  const file = values.settings ?? "bench/simulate/node.yaml";
  const made = study(parseNode(readFileSync(values.settings ?? DEFAULT, "utf8"), file, values.set));
  if (values.svg !== undefined) writeFileSync(values.svg, picture(made.schedulers));
  process.stdout.write(`${values.json ? renderJson(made) : renderText(made)}\n`);
}

try {
  main();
} catch (error) {
  const { code } = error as NodeJS.ErrnoException;
  const expected = error instanceof SimulateError || code?.startsWith("ERR_PARSE_ARGS") || code === "ENOENT";
  if (!expected) throw error;
  process.stderr.write(`simulate: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
