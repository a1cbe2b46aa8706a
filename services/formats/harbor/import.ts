/** Reads Harbor task folders (docs/harbor.md) into the common form of imported tasks. */

import { lstat, readdir, readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { IMAGE_HINT, isImageReference } from "../../../core/images.ts";
import {
  type FileChange,
  type StatementLevel,
  TASK_TYPES,
  type TaskType,
  type Verifier,
} from "../../../core/task.ts";
import {
  type ImageSource,
  ImportError,
  type ImportedTask,
  type Importer,
  type RowResult,
  type TreeEdit,
} from "../types.ts";
import { type HarborConfig, readConfig } from "./config.ts";
import { resolveEnv } from "./env.ts";
import { readFolder } from "./folder.ts";
import { verifierArgv } from "./verifier.ts";

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
  const config = readConfig(await readText(folder, "task.toml"), join(folder, "task.toml"));
  const tests = await readTests(folder);
  const boxEnv = resolveEnv(config.environment.env, "environment.env");
  const verifierEnv = resolveEnv(config.verifier.env, "verifier.env");
  const gold = await readSolution(folder, config);
  const { environment } = config;
  const verifier: Verifier = {
    files: tests,
    commands: [
      {
        scope: "",
        argv: verifierArgv(config.verifier.collect, verifierEnv.env),
        format: "reward",
        reportFile: null,
      },
    ],
    exact: null,
    timeoutSeconds: config.verifier.timeoutSeconds,
  };
  return {
    origin: {
      format: "harbor",
      id: config.name ?? basename(resolve(folder)),
      file: join(folder, "task.toml"),
      row: null,
      line: null,
    },
    type: taskType(config),
    statement: {
      level: statementLevel(config),
      text: statementOf(folder, await readText(folder, "instruction.md")),
    },
    environment: {
      image: await readImage(folder, config),
      workdir: environment.workdir,
      env: boxEnv.env,
      limits: {
        ...(environment.memoryMb === null ? {} : { memoryMb: environment.memoryMb }),
        ...(environment.storageMb === null ? {} : { diskMb: environment.storageMb }),
      },
      cpus: environment.cpus,
      network: environment.network,
    },
    base: [],
    gold: gold.edit,
    tests: [],
    hiddenFiles: [],
    failToPass: ["reward"],
    passToPass: [],
    verifier,
    notes: [...boxEnv.notes, ...verifierEnv.notes, ...gold.notes, ...notesOf(config)],
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

const placed = (changes: readonly FileChange[], folder: string): FileChange[] =>
  changes.map((change) => ({ ...change, path: `${folder}/${change.path}` }));

async function readTests(folder: string): Promise<FileChange[]> {
  const at = (field: string) => ({ file: folder, field });
  const files = await optionalFolder(folder, "tests");
  if (files?.some(({ path }) => path === "Dockerfile" || path === "docker-compose.yaml"))
    throw new ImportError(
      "unsupported",
      at("tests/Dockerfile"),
      "none (a verifier with an image of its own is not supported)",
      "one",
    );
  if (!files?.some(({ path }) => path === "test.sh"))
    throw new ImportError("field", at("tests/test.sh"), "a script that writes the reward", "none");
  return placed(files, "/tests");
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

async function readImage(folder: string, config: HarborConfig): Promise<ImageSource> {
  const { dockerImage } = config.environment;
  const files = await optionalFolder(folder, "environment");
  const compose = files?.find(({ path }) => /^(?:docker-)?compose\.ya?ml$/.test(path));
  if (compose !== undefined)
    throw new ImportError(
      "unsupported",
      { file: folder, field: `environment/${compose.path}` },
      "none (a task of several containers is not supported)",
      "one",
    );
  if (dockerImage !== null) {
    if (!isImageReference(dockerImage))
      throw new ImportError(
        "field",
        { file: folder, field: "task.toml, environment.docker_image" },
        IMAGE_HINT,
        JSON.stringify(dockerImage.slice(0, 200)),
      );
    return { kind: "image", reference: dockerImage };
  }
  if (!files?.some(({ path }) => path === "Dockerfile"))
    throw new ImportError(
      "field",
      { file: folder, field: "environment/Dockerfile" },
      "a Dockerfile, or environment.docker_image in task.toml",
      "neither",
    );
  return { kind: "build", files, dockerfile: "Dockerfile" };
}

/** Null where there is no such folder. Rules of .harborignore are refused: what they leave out would be graded with. */
async function optionalFolder(folder: string, name: string): Promise<FileChange[] | null> {
  const info = await lstat(join(folder, name)).catch(() => null);
  if (info === null) return null;
  if (!info.isDirectory())
    throw new ImportError("field", { file: folder, field: name }, "a folder", "something else");
  const files = await readFolder(folder, name);
  const ignoring =
    name === "environment" ? undefined : files.find(({ path }) => basename(path) === ".harborignore");
  if (ignoring !== undefined)
    throw new ImportError("unsupported", { file: folder, field: `${name}/${ignoring.path}` }, "none", "one");
  return files;
}

function notesOf({ environment, agent, verifier, artifacts, unknown }: HarborConfig): string[] {
  const notes: string[] = [];
  const { network } = environment;
  if (network !== "none")
    notes.push(
      `the task asks for ${network === "public" ? "a network" : `a network with ${network.hosts.join(", ")}`}: its boxes have none`,
    );
  if (verifier.mode === "separate")
    notes.push("the separate verifier sees the whole tree of the agent, not the artifacts alone");
  if (artifacts.length > 0)
    notes.push(`artifacts are not collected: ${artifacts.map(({ source }) => source).join(", ")}`);
  if (verifier.collect.length > 0)
    notes.push(
      "commands of verifier.collect run in the grading box, on the agent's tree: no process of the agent's is there",
    );
  if (environment.healthcheck) notes.push("environment.healthcheck is not run: nothing is started in a box");
  if (environment.skills) notes.push("environment.skills_dir is left out: agents here have no skills");
  for (const [name, user] of Object.entries({ agent: agent.user, verifier: verifier.user }))
    if (user !== null) notes.push(`${name}.user ${user} is left out: a box has one user`);
  for (const field of unknown) notes.push(`${field} is left out: no version of the format knows it`);
  return notes;
}
