/** Environments whose files are an image's: the image is pinned, its working tree given a history of one commit and copied out. */
import { basename } from "node:path";

import { connectDocker, helperName, type SandboxImage, type TarEntry, tar } from "../sandbox/index.ts";
import { type Unpacked, unpack } from "./archive.ts";
import type { PinnedEntry } from "./catalogue.ts";
import { EnvironmentError } from "./errors.ts";
import { assertPaths, type Gathered, type GatherOptions } from "./materials.ts";
import { snapshotOf } from "./snapshot.ts";

const PREPARATION = "1";

/** Of a pinned image: the image it is on top of, and the working tree whose history it has replaced. */
const SNAPSHOT_LABEL = "tadpole.snapshot";

type Docker = ReturnType<typeof connectDocker>["docker"];
type Container = Awaited<ReturnType<Docker["createContainer"]>>;

async function withContainer<T>(
  image: string,
  argv: readonly string[],
  work: (container: Container) => Promise<T>,
): Promise<T> {
  const { docker, where } = connectDocker();
  try {
    const container = await docker.createContainer({
      name: helperName(),
      Image: image,
      Cmd: [...argv],
      Entrypoint: [],
      User: "0",
      NetworkDisabled: true,
    });
    try {
      return await work(container);
    } finally {
      await container.remove({ force: true, v: true });
    }
  } catch (cause) {
    if (cause instanceof EnvironmentError) throw cause;
    throw new EnvironmentError("install", `image ${image} (${where}): ${(cause as Error).message}`, {
      cause,
    });
  }
}

async function bytesOf(stream: NodeJS.ReadableStream): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}

/**
 * Regular files of the working tree, by their paths in it, and which of them may be run. Links stay in the image alone: what only an image has counts as
 * given to its sandbox, and a copy of what a link leads to would not be what is there.
 */
async function readWorkdir(container: Container, image: SandboxImage): Promise<Unpacked> {
  const archive = await bytesOf(await container.getArchive({ path: image.workdir }));
  const top = `${basename(image.workdir)}/`;
  const whole = unpack(`${image.reference}:${image.workdir}`, archive, { withoutLinks: true });
  const inside = [...whole.files].filter(([path]) => path.startsWith(top));
  return {
    files: new Map(inside.map(([path, content]) => [path.slice(top.length), content])),
    programs: new Set(inside.flatMap(([path]) => (whole.programs.has(path) ? [path.slice(top.length)] : []))),
  };
}

const isHistory = (path: string): boolean => path.split("/").includes(".git");

/** Told of each image that is made here, or was before: its id, and what it is for people. `ImageCache.built` puts it on record. */
export type NoteImage = (id: string, reference: string) => void;

/**
 * Pins an image of the local daemon: a new one on top of it, in whose working tree every `.git` is replaced by a history of one commit. `workdir`
 * defaults to the image's own. Throws `EnvironmentError("install")`.
 */
export async function pinImage(
  reference: string,
  workdir: string | undefined,
  note: NoteImage = () => {},
): Promise<SandboxImage> {
  const { docker, where } = connectDocker();
  const found = await docker
    .getImage(reference)
    .inspect()
    .catch((cause: Error) => {
      throw new EnvironmentError(
        "install",
        `docker:${reference}: expected an image that the daemon at ${where} has: ${cause.message}`,
        { cause },
      );
    });
  const folder = workdir ?? found.Config.WorkingDir;
  if (!/^\/./.test(folder ?? ""))
    throw new EnvironmentError(
      "install",
      `docker:${reference}: expected a working folder, found ${JSON.stringify(folder)}; name one by --workdir`,
    );
  const image = { reference: found.Id, workdir: folder };
  // Each commit has an id of its own; an image that was pinned before keeps the one it has.
  const pinnedName = `${reference}, pinned`;
  const label = `${SNAPSHOT_LABEL}=${found.Id} ${folder}`;
  const [made] = await docker.listImages({ filters: JSON.stringify({ label: [label] }) });
  if (made !== undefined) {
    note(made.Id, pinnedName);
    return { reference: made.Id, workdir: folder };
  }
  const strip = ["find", folder, "-name", ".git", "-prune", "-exec", "rm", "-rf", "{}", "+"];
  const id = await withContainer(found.Id, strip, async (container) => {
    await container.start();
    const { StatusCode } = (await container.wait()) as { readonly StatusCode: number };
    if (StatusCode !== 0)
      throw new EnvironmentError(
        "install",
        `docker:${reference}: its history could not be removed: ${strip.join(" ")} ended with ${StatusCode}`,
      );
    const { files } = await readWorkdir(container, image);
    const entries = [...snapshotOf(files)].map(
      ([path, content]): TarEntry => ({ type: "file", path, content, executable: false }),
    );
    await container.putArchive(Buffer.concat([...tar(entries)]), { path: folder });
    const made = (await container.commit({
      changes: ["CMD []", `LABEL ${SNAPSHOT_LABEL}=${JSON.stringify(`${found.Id} ${folder}`)}`],
    })) as { readonly Id: string };
    return made.Id;
  });
  note(id, pinnedName);
  return { reference: id, workdir: folder };
}

/** The working tree of a pinned image, its history of one commit included. */
export function readImage(image: SandboxImage): Promise<Unpacked> {
  return withContainer(image.reference, ["true"], (container) => readWorkdir(container, image));
}

export async function gatherImage(
  entry: PinnedEntry,
  image: SandboxImage,
  _options: GatherOptions,
): Promise<Gathered> {
  const { files, programs } = await readImage(image);
  assertPaths(entry, new Map([...files].filter(([path]) => !isHistory(path))));
  const sorted = new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
  return { tree: sorted, programs, modules: new Map(), tools: { preparation: PREPARATION }, env: {} };
}
