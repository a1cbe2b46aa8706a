/** Reads Harbor task folders (docs/harbor.md) into the common form of imported tasks. */

import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { type StatementLevel, TASK_TYPES, type TaskType } from "../../../core/task.ts";
import { ImportError, type ImportedTask, type Importer, type RowResult, type TreeEdit } from "../types.ts";
import { type HarborConfig, readConfig } from "./config.ts";
import { resolveEnv } from "./env.ts";
import { optionalFolder, placed } from "./folder.ts";
import { environmentImage, limitsOf } from "./image.ts";
import { readVerifier } from "./verifier.ts";

/** Larger instructions or configurations are no such thing. */
const TEXT_BYTES = 4 * 1024 * 1024;
/** Of a reference solution where the agent has no limit either. */
const SOLUTION_SECONDS = 600;

export const harborImporter: Importer = {
  name: "harbor",
  async *read(path, { limit = Number.POSITIVE_INFINITY, signal }) {
    let folders: readonly string[];
    try {
      folders = await taskFolders(path);
    } catch (error) {
      yield { error: asImportError(error, path) };
      return;
    }
    for (const folder of folders.slice(0, limit)) {
      signal?.throwIfAborted();
      yield await readResult(folder);
    }
  },
};

async function readResult(folder: string): Promise<RowResult> {
  try {
    return { task: await readHarborTask(folder) };
  } catch (error) {
    return { error: asImportError(error, folder) };
  }
}

/** What the file system refuses is said as an error of the file; anything else is a mistake of this program. */
function asImportError(error: unknown, file: string): ImportError {
  if (error instanceof ImportError) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (typeof code !== "string") throw error;
  return new ImportError("file", { file }, "a readable folder", code, { cause: error });
}

/** `path` itself where it holds a task.toml, else the folders directly below it that do, by name. */
async function taskFolders(path: string): Promise<readonly string[]> {
  if (await isFile(join(path, "task.toml"))) return [path];
  const below = await readdir(path, { withFileTypes: true });
  const found: string[] = [];
  for (const entry of below)
    if (entry.isDirectory() && (await isFile(join(path, entry.name, "task.toml"))))
      found.push(join(path, entry.name));
  if (found.length === 0)
    throw new ImportError("file", { file: path }, "a task.toml, or folders that have one", "none");
  return found.sort();
}

const isFile = async (path: string): Promise<boolean> =>
  lstat(path).then(
    (info) => info.isFile(),
    () => false,
  );

/** Throws ImportError. */
export async function readHarborTask(folder: string): Promise<ImportedTask> {
  const file = join(folder, "task.toml");
  const config = readConfig(await readText(folder, "task.toml"), file);
  const boxEnv = resolveEnv(config.environment.env, "environment.env");
  const gold = await readSolution(folder, config);
  const { environment } = config;
  const judge = await readVerifier(folder, config);
  return {
    origin: {
      format: "harbor",
      id: config.name ?? basename(resolve(folder)),
      file,
      row: null,
      line: null,
    },
    type: taskType(config),
    statement: {
      level: statementLevel(config),
      text: statementOf(folder, await readText(folder, "instruction.md")),
    },
    environment: {
      image: await environmentImage(folder, environment),
      workdir: environment.workdir,
      env: boxEnv.env,
      limits: limitsOf(environment),
      cpus: environment.cpus,
      network: environment.network,
    },
    base: [],
    gold: gold.edit,
    tests: [],
    hiddenFiles: [],
    failToPass: ["reward"],
    passToPass: [],
    verifier: judge.verifier,
    ...(judge.box && { verifierBox: judge.box }),
    notes: [...boxEnv.notes, ...judge.notes.env, ...gold.notes, ...notesOf(config, judge.notes.rule)],
  };
}

async function readText(folder: string, name: string): Promise<string> {
  const at = { file: folder, field: name };
  const path = join(folder, name);
  const info = await lstat(path).catch(() => null);
  if (info === null) throw new ImportError("field", at, `a file ${name}`, "none");
  if (!info.isFile()) throw new ImportError("field", at, `a file ${name}`, "something else");
  if (info.size > TEXT_BYTES)
    throw new ImportError("size", at, `at most ${TEXT_BYTES} bytes`, `${info.size} bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path));
  } catch (error) {
    throw new ImportError("field", at, "text in UTF-8", "other bytes", { cause: error });
  }
}

/** The instruction without the lines at its beginning that mark benchmark data (canaries), as Harbor shows it to agents. */
export function withoutCanary(text: string): string {
  const lines = text.split("\n");
  let at = 0;
  while (at < lines.length && /^(<!--.*canary.*-->|#.*canary.*)$/i.test(lines[at]!.trim())) at++;
  while (at < lines.length && lines[at]!.trim() === "") at++;
  return lines.slice(at).join("\n");
}

function statementOf(folder: string, text: string): string {
  const statement = withoutCanary(text);
  if (statement.trim() === "")
    throw new ImportError("field", { file: folder, field: "instruction.md" }, "an instruction", "no text");
  const line = statement.includes("\0") ? text.slice(0, text.indexOf("\0")).split("\n").length : null;
  if (line !== null)
    throw new ImportError(
      "field",
      { file: join(folder, "instruction.md"), line },
      "text",
      "the control character NUL",
    );
  return statement;
}

/** Tasks that Tadpole exported say what they were. */
function taskType({ metadata }: HarborConfig): TaskType {
  return metadata.section("tadpole").oneOf("type", TASK_TYPES) ?? "feature";
}

function statementLevel({ metadata }: HarborConfig): StatementLevel {
  const own = metadata.section("tadpole");
  const level = own.count("level", 0) ?? 0;
  return level <= 3 ? (level as StatementLevel) : own.fail("level", "0, 1, 2 or 3");
}

async function readSolution(
  folder: string,
  config: HarborConfig,
): Promise<{ readonly edit: TreeEdit | null; readonly notes: readonly string[] }> {
  const files = await optionalFolder(folder, "solution");
  if (!files?.some(({ path }) => path === "solve.sh")) return { edit: null, notes: [] };
  const { env, notes } = resolveEnv(config.solutionEnv, "solution.env");
  return {
    edit: {
      kind: "script",
      field: "solution/solve.sh",
      files: placed(files, "/solution"),
      argv: ["bash", "/solution/solve.sh"],
      env: { DEBIAN_FRONTEND: "noninteractive", ...env },
      timeoutSeconds: config.agent.timeoutSeconds ?? SOLUTION_SECONDS,
    },
    notes,
  };
}

function notesOf({ environment, agent, verifier, unknown }: HarborConfig, rule: readonly string[]): string[] {
  const notes: string[] = [];
  const { network, saysNetwork } = environment;
  if (saysNetwork && network !== "none")
    notes.push(
      `task.toml asks for ${network === "public" ? "a network" : `a network with ${network.hosts.join(", ")}`}: only its image's build has one, its boxes have none`,
    );
  notes.push(...rule);
  if (environment.healthcheck) notes.push("environment.healthcheck is not run: nothing is started in a box");
  if (environment.skills) notes.push("environment.skills_dir is left out: agents here have no skills");
  for (const [name, user] of Object.entries({ agent: agent.user, verifier: verifier.user }))
    if (user !== null) notes.push(`${name}.user ${user} is left out: a box has one user`);
  for (const field of unknown) notes.push(`${field} is left out: no version of the format knows it`);
  return notes;
}
