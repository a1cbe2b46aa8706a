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
import { buildImage } from "./harbor/build.ts";
import { withoutHidden } from "./hidden.ts";
import { type ResolvedTask, resolveTask } from "./resolve.ts";
import { scriptRunner } from "./script.ts";
import type { ImageSource, ImportedTask, ImportedVerifierBox } from "./types.ts";

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
  const box = verifierBox && (await boxOf(verifierBox, await find(verifierBox.image, "built to judge")));
  const { reference, hidden } = await withoutHidden(found, wanted);
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
