/** Environments whose files are an image's: the image is pinned, its working tree given a history of one commit and copied out. */
import { basename } from "node:path";

import { connectDocker, type SandboxImage, type TarEntry, tar } from "../sandbox/index.ts";
import { type Unpacked, unpack } from "./archive.ts";
import type { PinnedEntry } from "./catalogue.ts";
import {
  archiveAt,
  assertFolder,
  type Container,
  commit,
  locateImage,
  runToEnd,
  withContainer,
} from "./container.ts";
import { assertPaths, type Gathered, type GatherOptions } from "./materials.ts";
import { snapshotOf } from "./snapshot.ts";

const PREPARATION = "1";

/** Of a pinned image: the image it is on top of, and the working tree whose history it has replaced. */
const SNAPSHOT_LABEL = "tadpole.snapshot";

/**
 * Regular files of the working tree, by their paths in it, and which of them may be run. Links stay in the image alone: what only an image has counts as
 * given to its sandbox, and a copy of what a link leads to would not be what is there.
 */
async function readWorkdir(container: Container, image: SandboxImage): Promise<Unpacked> {
  const archive = await archiveAt(container, image.workdir);
  if (archive === undefined) throw new Error(`there is no ${image.workdir}`);
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
 * defaults to the image's own; `remedy` says how another is named. Throws `EnvironmentError`.
 */
export async function pinImage(
  reference: string,
  workdir: string | undefined,
  note: NoteImage = () => {},
  remedy = "name one by --workdir",
): Promise<SandboxImage> {
  const image = await locateImage(reference, workdir, remedy);
  const { reference: below, workdir: folder } = image;
  // Each commit has an id of its own; an image that was pinned before keeps the one it has.
  const pinnedName = `${reference}, pinned`;
  const label = [SNAPSHOT_LABEL, `${below} ${folder}`] as const;
  const [made] = await connectDocker().docker.listImages({
    filters: JSON.stringify({ label: [label.join("=")] }),
  });
  if (made !== undefined) {
    note(made.Id, pinnedName);
    return { reference: made.Id, workdir: folder };
  }
  const strip = ["find", folder, "-name", ".git", "-prune", "-exec", "rm", "-rf", "{}", "+"];
  const id = await withContainer(below, strip, async (container) => {
    await assertFolder(container, `docker:${reference}`, folder, remedy);
    await runToEnd(container, `its history could not be removed: ${strip.join(" ")}`);
    const { files } = await readWorkdir(container, image);
    const entries = [...snapshotOf(files)].map(
      ([path, content]): TarEntry => ({ type: "file", path, content, executable: false }),
    );
    await container.putArchive(Buffer.concat([...tar(entries)]), { path: folder });
    return commit(container, label);
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
