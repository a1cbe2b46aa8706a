/**
 * Makes the golden reports again by running the real tools on the example projects:
 * `node tests/golden/reports/make.ts <tools folder> [<part of tool/case>]`. Tools that the folder lacks are installed there.
 * What is expected of each is not made here: it is declared by hand in `projects/<family>/outcomes.json`.
 */
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import type { StatusMap } from "../../../core/task.ts";
import { CASES, type Case, INSTALL } from "./cases.ts";

const HERE = import.meta.dirname;

interface Outcome {
  readonly complete: boolean;
  readonly statuses: StatusMap;
}

function main(toolsFolder: string | undefined, only = ""): void {
  if (toolsFolder === undefined) throw new Error("usage: make.ts <tools folder> [<part of tool/case>]");
  const tools = resolve(toolsFolder);
  for (const one of CASES) {
    if (!`${one.tool}/${one.name}`.includes(only)) continue;
    install(tools, one.tool);
    make(tools, one);
  }
}

function install(tools: string, tool: string): void {
  const folder = join(tools, tool);
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  const run = spawnSync("bash", ["-ec", INSTALL[tool]!], { cwd: folder, encoding: "utf8" });
  if (run.status === 0) return;
  rmSync(folder, { recursive: true });
  throw new Error(`${tool} could not be installed: ${run.stderr}`);
}

function make(tools: string, one: Case): void {
  const scratch = mkdtempSync(join(tmpdir(), "report-"));
  try {
    cpSync(join(HERE, "projects", one.project), scratch, { recursive: true });
    const run = spawnSync("bash", ["-c", one.command], {
      cwd: scratch,
      encoding: "utf8",
      env: environment(join(tools, one.tool)),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const clean = (text: string) => normalised(text, scratch, join(tools, one.tool));
    const base = join(HERE, one.tool, one.name);
    mkdirSync(join(HERE, one.tool), { recursive: true });
    const text = one.reportFile === undefined ? run.stdout : readReport(join(scratch, one.reportFile));
    writeFileSync(`${base}.${one.extension}`, clean(text));
    if (one.stderr) writeFileSync(`${base}.stderr.txt`, clean(run.stderr));
    const expected = { format: one.format, exitCode: run.status, ...outcomeOf(one) };
    writeFileSync(`${base}.expected.json`, `${JSON.stringify(expected, null, 2)}\n`);
    console.log(`${one.tool}/${one.name}: exit ${run.status}, ${text.length} characters`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const readReport = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");

/** The declared outcome; one that only holds for some version of the tool stands under `<key>@<tool>`. */
function outcomeOf({ project, outcomes, tool }: Case): Outcome {
  const [family, name] = project.split("/") as [string, string];
  const path = join(HERE, "projects", family, "outcomes.json");
  const declared = JSON.parse(readFileSync(path, "utf8")) as Record<string, Outcome>;
  const key = outcomes ?? name;
  const outcome = declared[`${key}@${tool}`] ?? declared[key];
  if (outcome === undefined) throw new Error(`${path}: "${key}" is not declared`);
  return outcome;
}

/** Little of the machine's own environment, so that colours, widths and languages are the same everywhere. */
function environment(tool: string): NodeJS.ProcessEnv {
  const { PATH, HOME } = process.env;
  return { PATH, HOME, TOOL: tool, LANG: "C.UTF-8", PYTHONDONTWRITEBYTECODE: "1", CARGO_NET_OFFLINE: "true" };
}

/** Without what differs from run to run: paths, times, addresses, process ids, hashes. */
function normalised(text: string, scratch: string, tool: string): string {
  const real = realpathSync(tool);
  return text
    .replaceAll(scratch, "/repo")
    .replaceAll(tool, "/tool")
    .replaceAll(real, "/tool")
    .replaceAll(relative(scratch, real), "../tool")
    .replaceAll(process.execPath, "/usr/bin/node")
    .replace(/(?:\/[\w.-]+)+(?=\/lib\/python3)/g, "/usr")
    .replace(/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g, "Thu, 01 Jan 2026 00:00:00 GMT")
    .replace(/(?<head>Start at .{0,20}?)\d\d:\d\d:\d\d/g, "$<head>00:00:00")
    .replace(/("startAt": ?)\d+/g, "$11")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?/g, "2026-01-01T00:00:00Z")
    .replace(/("(?:duration|startTime|endTime|start|end|runtime|Elapsed|mtimeMs)": ?)[\d.]+/g, "$11")
    .replace(/\b(time|duration|duration_ms)(=|: ?| )("?)[\d.]+(?:e-\d+)?/g, "$1$2$31")
    .replace(/\b\d+(?:\.\d+)?( ?)(ms|s)\b/g, "1$1$2")
    .replace(/hostname="[^"]*"/g, 'hostname="host"')
    .replace(/-[0-9a-f]{16}\b/g, "-0123456789abcdef")
    .replace(/0x[0-9a-f]{4,}/g, "0x1234")
    .replace(/\b(pid|goroutine|process:|thread '[^']*' \()( ?)\d+/g, "$1$21");
}

main(process.argv[2], process.argv[3]);
