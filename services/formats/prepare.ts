/** The box of an imported task: its image is found or built, pinned, and prepared as an environment; then the task is resolved in it. */
import { createHash } from "node:crypto";
import type { FileChange, Verifier, VerifierBox } from "../../core/task.ts";
import {
  type Catalogue,
  EnvironmentError,
  type NoteImage,
  type PinnedEntry,
  type PreparedEnvironment,
  pinImage,
  prepareEnvironment,
  readArchive,
} from "../environments/index.ts";
import {
  connectDocker,
  type DockerClient,
  encode,
  helperName,
  type SandboxImage,
  type SandboxRuntime,
} from "../sandbox/index.ts";
import { buildImage } from "./harbor/build.ts";
import { type ResolvedTask, resolveTask } from "./resolve.ts";
import { scriptRunner } from "./script.ts";
import type { ImageSource, ImportedEnvironment, ImportedTask, ImportedVerifierBox } from "./types.ts";

export interface PreparedImport extends ResolvedTask {
  readonly environment: PreparedEnvironment;
}

export interface PrepareImportOptions {
  readonly dataFolder: string;
  /** Runs solutions that are scripts. */
  readonly runtime: SandboxRuntime;
  /** Brings an image that the daemon does not have; without it such an image is an error. */
  readonly pull?: (reference: string) => Promise<unknown>;
  /** Told of each image that is made for it (`ImageCache.built`). */
  readonly note?: NoteImage;
  readonly signal?: AbortSignal;
}

/**
 * Throws EnvironmentError `install` for an image that is not to be had, BuildError for a Dockerfile that does not build, and what
 * `resolveTask` throws.
 */
export async function prepareImport(
  imported: ImportedTask,
  { dataFolder, runtime, pull, note = () => {}, signal }: PrepareImportOptions,
): Promise<PreparedImport> {
  const client = connectDocker();
  const { environment: wanted, origin, verifierBox } = imported;
  const name = `${origin.format}:${origin.id}`;
  const find = async (image: ImageSource, what: string): Promise<string> => {
    const found = await findImage(client, image, pull, signal);
    if (image.kind === "build") note(found, `${name}, ${what}`);
    return found;
  };
  const found = await find(wanted.image, "built");
  const box =
    verifierBox && (await boxOf(client, verifierBox, await find(verifierBox.image, "built to judge")));
  const { reference, hidden } = await withoutHidden(client, found, wanted);
  if (reference !== found) note(reference, `${name}, without what is hidden`);
  const image = await pinImage(reference, wanted.workdir ?? undefined, note);
  const entry = entryOf(imported, image);
  const environment = await prepareEnvironment({
    name: entry.name,
    catalogue: { folder: dataFolder, entries: [entry] } satisfies Catalogue,
    dataFolder,
    repeats: 0,
    runTests: () => Promise.reject(new Error("an imported task's own verifier judges it")),
    ...(signal && { signal }),
  });
  const { verifier } = imported;
  const whole = {
    ...imported,
    verifier: { ...verifier, files: [...verifier.files, ...hidden], ...(box && { box }) } satisfies Verifier,
  };
  const resolved = await resolveTask(whole, {
    environment: environment.key,
    root: environment.root,
    runScript: scriptRunner(runtime, environment, signal),
  });
  return { environment, ...resolved };
}

async function findImage(
  { docker }: DockerClient,
  image: ImageSource,
  pull: PrepareImportOptions["pull"],
  signal: AbortSignal | undefined,
): Promise<string> {
  if (image.kind === "build") return buildImage(docker, image, { ...(signal && { signal }) });
  const isThere = await docker
    .getImage(image.reference)
    .inspect()
    .then(
      () => true,
      () => false,
    );
  if (!isThere) await pull?.(image.reference);
  return image.reference;
}

/** The verifier's box on its pinned image. */
async function boxOf(
  { docker, where }: DockerClient,
  { workdir, env, limits, collect, artifacts }: ImportedVerifierBox,
  reference: string,
): Promise<VerifierBox> {
  const refuse = (why: string, options?: ErrorOptions): never => {
    throw new EnvironmentError("install", `image ${reference} (${where}), the verifier's: ${why}`, options);
  };
  const { Id, Config } = await docker
    .getImage(reference)
    .inspect()
    .catch((cause: Error) => refuse(cause.message, { cause }));
  const folder = workdir ?? Config.WorkingDir;
  // A box looks at all that is below its working folder.
  if (!/^\/./.test(folder ?? ""))
    return refuse(
      `expected a working folder, found ${JSON.stringify(folder)}; name one by WORKDIR or verifier.environment.workdir`,
    );
  const { memoryMb = LIMITS.memoryMb, processes = LIMITS.processes, diskMb = LIMITS.diskMb } = limits;
  return { image: Id, workdir: folder, env, limits: { memoryMb, processes, diskMb }, collect, artifacts };
}

/** On an image made here: the id of the one below it, and a hash of what was taken out and set. */
const HIDDEN_LABEL = "tadpole.hidden";

/** The image with the source's variables and without what only the verifier may see, which is read first. */
async function withoutHidden(
  { docker, where }: DockerClient,
  reference: string,
  { hidden = [], env }: ImportedEnvironment,
): Promise<{ readonly reference: string; readonly hidden: readonly FileChange[] }> {
  if (hidden.length === 0 && Object.keys(env).length === 0) return { reference, hidden: [] };
  // Each commit has an id of its own: what was made of the same image before is taken again, so that a task keeps its id.
  const made = createHash("sha256")
    .update(JSON.stringify([reference, hidden, env]))
    .digest("hex");
  try {
    const { Id: source } = await docker.getImage(reference).inspect();
    const label = `${source} ${made}`;
    // The pinned image stands on it and has its labels, too.
    const labelled = await docker.listImages({
      all: true,
      filters: JSON.stringify({ label: [`${HIDDEN_LABEL}=${label}`] }),
    });
    const known = labelled.find(({ ParentId }) => ParentId === source);
    const container = await docker.createContainer({
      name: helperName(),
      Image: reference,
      Entrypoint: [],
      Cmd: ["rm", "-rf", "--", ...hidden],
      User: "0",
      NetworkDisabled: true,
    });
    try {
      const files = (await Promise.all(hidden.map((path) => filesAt(container, reference, path)))).flat();
      if (known !== undefined) return { reference: known.Id, hidden: files };
      await container.start();
      const { StatusCode } = (await container.wait()) as { readonly StatusCode: number };
      if (StatusCode !== 0) throw new Error(`rm of its hidden files ended with ${StatusCode}`);
      const variables = Object.entries(env).map(([name, value]) => `ENV ${name}=${JSON.stringify(value)}`);
      const image = (await container.commit({
        changes: ["CMD []", `LABEL ${HIDDEN_LABEL}=${JSON.stringify(label)}`, ...variables],
      })) as { readonly Id: string };
      return { reference: image.Id, hidden: files };
    } finally {
      await container.remove({ force: true, v: true });
    }
  } catch (cause) {
    throw new EnvironmentError("install", `image ${reference} (${where}): ${(cause as Error).message}`, {
      cause,
    });
  }
}

type Container = Awaited<ReturnType<DockerClient["docker"]["createContainer"]>>;

/** The file, or every file below the folder, under their absolute paths; none where nothing is there. */
async function filesAt(container: Container, reference: string, path: string): Promise<FileChange[]> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of await container.getArchive({ path }))
      chunks.push(Buffer.from(chunk as Uint8Array));
  } catch (error) {
    if ((error as { readonly statusCode?: number }).statusCode === 404) return [];
    throw error;
  }
  const parent = path.slice(0, path.lastIndexOf("/"));
  return [...readArchive(`${reference}:${path}`, Buffer.concat(chunks))].map(
    ([name, content]): FileChange => ({ kind: "write", path: `${parent}/${name}`, ...encode(content) }),
  );
}

/** An entry that stands in no catalogue: the verifier judges, so it has neither sources nor tests of its own. */
function entryOf({ origin, environment, verifier }: ImportedTask, image: SandboxImage): PinnedEntry {
  const id = image.reference.replace(/^sha256:/, "");
  const [command] = verifier.commands;
  const { argv, format, reportFile } = command!;
  return {
    name: nameOf(`${origin.format}-${origin.id}`),
    source: `docker:${image.reference}`,
    role: "train",
    sources: [],
    tests: [],
    omit: [],
    framework: "command",
    test: { argv, format, reportFile },
    image,
    limits: { ...LIMITS, ...environment.limits },
    packageName: origin.id,
    version: id.slice(0, 12),
    integrity: `sha256:${id}`,
    pins: { kind: "docker", image },
  };
}

/** Images of whole repositories need more than the packages of the catalogue; a source's own limits win. */
const LIMITS = { memoryMb: 4096, processes: 256, diskMb: 4096 };

const nameOf = (id: string): string =>
  id
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 80);
