/** The box of an imported task: its image is found or built, pinned, and prepared as an environment; then the task is resolved in it. */
import type { Verifier, VerifierBox } from "../../core/task.ts";
import {
  type Catalogue,
  locateImage,
  type NoteImage,
  type PinnedEntry,
  type PreparedEnvironment,
  pinImage,
  prepareEnvironment,
} from "../environments/index.ts";
import {
  connectDocker,
  type DockerClient,
  type SandboxImage,
  type SandboxRuntime,
} from "../sandbox/index.ts";
import { BuildError, buildImage } from "./harbor/build.ts";
import { BUILD_SECONDS } from "./harbor/image.ts";
import { withoutHidden } from "./hidden.ts";
import { type ResolvedTask, resolveTask } from "./resolve.ts";
import { scriptRunner } from "./script.ts";
import {
  type ImageSource,
  ImportError,
  type ImportedEnvironment,
  type ImportedTask,
  type ImportedVerifierBox,
} from "./types.ts";

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
  /** Told of each step of a build. */
  readonly log?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/**
 * Throws EnvironmentError `install` for an image that is not to be had, BuildError for a Dockerfile that does not build, ImportError `size` for one that
 * takes too long, and what
 * `resolveTask` throws.
 */
export async function prepareImport(
  imported: ImportedTask,
  options: PrepareImportOptions,
): Promise<PreparedImport> {
  const { dataFolder, runtime, note = () => {}, signal } = options;
  const client = connectDocker();
  const { environment: wanted, origin, verifierBox } = imported;
  const name = `${origin.format}:${origin.id}`;
  const find = async (box: Boxed, table: string, what: string): Promise<string> => {
    const { image } = box;
    if (image.kind === "image") return findImage(client, image.reference, options.pull);
    const at = { file: origin.file, field: `${table}.build_timeout_sec` };
    const found = await build(client, { image, limits: box.limits }, at, options);
    note(found, `${name}, ${what}`);
    return found;
  };
  const found = await find(wanted, "environment", "built");
  const box =
    verifierBox &&
    (await boxOf(verifierBox, await find(verifierBox, "verifier.environment", "built to judge")));
  const { reference, hidden } = await withoutHidden(found, wanted);
  if (reference !== found) note(reference, `${name}, without what is hidden`);
  const image = await pinImage(reference, wanted.workdir ?? undefined, note, remedyOf(imported));
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

type Boxed = Pick<ImportedEnvironment, "image" | "limits">;
type Build = ImageSource & { readonly kind: "build" };

async function build(
  { docker }: DockerClient,
  { image, limits }: { readonly image: Build; readonly limits: Boxed["limits"] },
  at: { readonly file: string; readonly field: string },
  { log, signal }: PrepareImportOptions,
): Promise<string> {
  const timeoutSeconds = image.timeoutSeconds ?? BUILD_SECONDS;
  try {
    return await buildImage(docker, image, {
      // A build may need more than what it makes: the task's own bound only raises it.
      memoryMb: Math.max(LIMITS.memoryMb, limits.memoryMb ?? 0),
      timeoutSeconds,
      ...(log && { log }),
      ...(signal && { signal }),
    });
  } catch (error) {
    if (!(error instanceof BuildError) || error.kind !== "timeout") throw error;
    throw new ImportError("size", at, `an image that is built in ${timeoutSeconds} s`, error.message, {
      cause: error,
    });
  }
}

/** What to do about an image without the working folder; whoever imports has no option that names one. */
function remedyOf({ origin, environment }: ImportedTask): string {
  if (origin.format === "harbor")
    return "name one by WORKDIR in the Dockerfile, or by workdir in [environment] of task.toml";
  const { image } = environment;
  const named = image.kind === "image" ? image.reference : "of a Dockerfile";
  return `the ${origin.format} row ${origin.id} names the image ${named}: images of this format have the repository there, as the published ones do`;
}

async function findImage(
  { docker }: DockerClient,
  reference: string,
  pull: PrepareImportOptions["pull"],
): Promise<string> {
  const isThere = await docker
    .getImage(reference)
    .inspect()
    .then(
      () => true,
      () => false,
    );
  if (!isThere) await pull?.(reference);
  return reference;
}

/** The verifier's box on its pinned image. */
async function boxOf(
  { workdir, env, limits, collect, artifacts }: ImportedVerifierBox,
  reference: string,
): Promise<VerifierBox> {
  // A box looks at all that is below its working folder.
  const image = await locateImage(
    reference,
    workdir ?? undefined,
    "name the verifier's by WORKDIR, or by workdir in [verifier.environment]",
  );
  const { memoryMb = LIMITS.memoryMb, processes = LIMITS.processes, diskMb = LIMITS.diskMb } = limits;
  return {
    image: image.reference,
    workdir: image.workdir,
    env,
    limits: { memoryMb, processes, diskMb },
    collect,
    artifacts,
  };
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
