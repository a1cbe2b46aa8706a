/** The command line and the API have the same powers: the table of docs/api.md is what both are, down to their parameters. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Argument, Command, type Option } from "commander";
import { beforeAll, describe, expect, it } from "vitest";
import { createApi } from "../../apps/api/server.ts";
import type { CommandModule } from "../../apps/cli/command.ts";
import * as control from "../../apps/control/index.ts";
import { packageRoot } from "../../infra/stack/paths.ts";

const page = readFileSync(join(packageRoot, "docs/api.md"), "utf8");

/** Code of each cell of the table that follows a header. */
function table(header: string): string[][][] {
  const lines = page.slice(page.indexOf(header)).split("\n").slice(2);
  return lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith("|")),
    )
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]!)),
    );
}

const rows = table("| command | request | functions |").map(([command, request, functions]) => ({
  command: command![0]!,
  request: request![0]!,
  functions: functions!,
}));
const hostCommands = table("| command | why HTTP has none |").flatMap(([commands]) => commands!);

/** Exports that are no power of their own. */
const PLUMBING: Readonly<Record<string, string>> = {
  withStack: "opens a session",
  withRecord: "opens a session of a stack that runs; the API has one open",
  isPinnedBenchmark: "what a benchmark over HTTP has to be: no path of this machine",
  isRunning: "following ends with it; the stream of events tells it as `end`",
  outcome: "the exit code of following; the stream's `end` and GET …/{name} tell it",
  experimentSettings: "part of what GET …/{name} answers",
  readFilter: "text of the command line; the API's validator reads the same filters",
  readCount: "as readFilter",
  trialOutcome: "the end of task try; over HTTP the rollout is there or it is not",
  replayCounts: "printed by replay --wait; the event `reuse` tells the same",
  collect: "of gc, a host command",
  regrade: "a host command",
  listExperimentRegrades: "of regrade, a host command",
  compareExperiments: "of compare, a host command",
  readReport: "of report, a host command",
  verifyImport: "of imports verify, a host command",
  importTasks: "of import, a host command",
  exportHarbor: "of export, a host command",
  exportAtif: "as exportHarbor",
  unfinished: "sentences of a comparison, as text and as a page",
};

/** What a face may take from below the control module, and why. */
const BELOW: Readonly<Record<string, string>> = {
  "apps/api/idempotency.ts": "answers are kept for requests of HTTP alone",
  "apps/cli/experiment-view.ts": "picks an evaluation out of what was read",
  "apps/cli/commands/env.ts": "host command",
  "apps/cli/env-history.ts": "part of env, a host command",
  "apps/cli/env-verify.ts": "part of env verify, a host command",
  "apps/cli/commands/sandboxes.ts": "host command",
  "apps/cli/commands/worker.ts": "host command",
  "apps/cli/doctor.ts": "host command",
  "apps/cli/doctor-gpu.ts": "part of doctor, a host command",
};

type Schema = { properties?: Record<string, Schema>; anyOf?: Schema[]; oneOf?: Schema[] };
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: Schema }> };
}
const operations = new Map<string, Operation>();
const commands = new Map<string, Command>();

beforeAll(async () => {
  const none = {} as Parameters<typeof createApi>[0];
  const options = { tokens: [], requestsPerMinute: 1, streamSeconds: 1, version: "0", log: null };
  const api = await createApi(none, options);
  const { paths = {} } = api.swagger();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods ?? {}))
      if (method !== "head") operations.set(`${method.toUpperCase()} ${path}`, operation as Operation);
  await api.close();
  const program = new Command();
  const folder = join(packageRoot, "apps/cli/commands");
  for (const file of readdirSync(folder))
    ((await import(join(folder, file))) as CommandModule).register(program);
  const visit = (command: Command, path: string) => {
    if (command.commands.length === 0) commands.set(path, command);
    for (const child of command.commands) visit(child, `${path} ${child.name()}`.trim());
  };
  visit(program, "");
});

const sorted = (names: Iterable<string>) => [...new Set(names)].sort();

describe("the table of powers", () => {
  it("has every command, or says why HTTP has none", () => {
    const listed = [...rows.map(({ command }) => command), ...hostCommands];
    expect(sorted(listed)).toEqual(sorted(commands.keys()));
  });

  it("has every request", () => {
    const requests = [...rows.map(({ request }) => request), "GET /v1/health"];
    expect(sorted(requests)).toEqual(sorted(operations.keys()));
  });

  it("has every function of the control module", () => {
    const functions = Object.entries(control)
      .filter(([name, value]) => typeof value === "function" && !/Error$/.test(name))
      .map(([name]) => name);
    const shared = ["checkEnvironments", "checkPolicy", "codeVersion", "loadExperiment", "overridesOf"];
    expect(sorted([...rows.flatMap((row) => row.functions), ...shared, ...Object.keys(PLUMBING)])).toEqual(
      sorted(functions),
    );
  });
});

/** Sources of a face, by path. */
function sources(face: string): Map<string, string> {
  const files = readdirSync(join(packageRoot, face), { recursive: true, encoding: "utf8" });
  return new Map(
    files
      .filter((file) => file.endsWith(".ts"))
      .map((file) => [`${face}/${file}`, readFileSync(join(packageRoot, face, file), "utf8")]),
  );
}
const faces = { api: sources("apps/api"), cli: sources("apps/cli") };

describe("both faces", () => {
  it.each(Object.entries(faces))("%s calls every function of the table", (_, files) => {
    const text = [...files.values()].join("\n");
    const unused = rows
      .flatMap((row) => row.functions)
      .filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
    expect(unused).toEqual([]);
  });

  it("reach services, workflows and activities through the control module, but for what is listed", () => {
    const reaching = [...faces.api, ...faces.cli]
      .filter(([, text]) => {
        const imports = [
          ...text.matchAll(/^(?:import|export) (?!type\b)[^;]*? from "([^"]+)"/gm),
          ...text.matchAll(/await import\(\s*"([^"]+)"/g),
        ].map((match) => match[1]!);
        return imports.some((path) => /\/(services|workflows|activities)/.test(path));
      })
      .map(([file]) => file);
    expect(reaching.sort()).toEqual(Object.keys(BELOW).sort());
  });
});

/** Names in which the faces differ for the same thing. */
const SAME: Readonly<Record<string, string>> = {
  experiment: "name",
  schedule: "name",
  a: "try",
  b: "try",
  kind: "work",
  "run|evaluate": "work",
  what: "work",
};
/** How a command shows or follows, and what HTTP says by headers. */
const PRESENTATION = ["json", "wait", "detach", "yes", "gold", "file", "request", "after"];

function fieldsOf({ properties = {}, anyOf = [], oneOf = [] }: Schema): string[] {
  const nested = [...anyOf, ...oneOf].flatMap(fieldsOf);
  return [...Object.entries(properties).flatMap(([name, schema]) => [name, ...fieldsOf(schema)]), ...nested];
}

/** A policy or a set beside `work` is part of it on the command line. */
const common = (names: readonly string[]) => {
  const found = sorted(names.map((name) => SAME[name] ?? name));
  return found.includes("work") ? found.filter((name) => name !== "policy") : found;
};

it.each(rows.map((row) => [row.command, row] as const))("%s has the parameters of its request", (_, row) => {
  const command = commands.get(row.command)!;
  const { parameters = [], requestBody } = operations.get(row.request)!;
  const asked = parameters.filter((parameter) => parameter.in !== "header").map(({ name }) => name);
  const body = Object.values(requestBody?.content ?? {}).flatMap(({ schema }) => fieldsOf(schema));
  const given = [
    ...command.registeredArguments.flatMap((argument: Argument) => argument.name().split("=")),
    ...command.options.map((option: Option) => option.attributeName()),
  ].filter((name) => !PRESENTATION.includes(name));
  expect(common(given)).toEqual(common([...asked, ...body]));
});
