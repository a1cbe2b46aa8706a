/** The images that Tadpole brought to a Docker daemon, kept within bounds. */
import { hostname } from "node:os";
import { freeBytes, requireRoom } from "../disk.ts";
import { type Client, connect } from "../docker/client.ts";
import { daemonError, statusOf } from "../docker/errors.ts";
import { daemonEvents } from "../docker/events.ts";
import { imageId } from "../docker/image.ts";
import { SandboxError } from "../runtime.ts";
import { type CachedImage, planEviction } from "./plan.ts";
import { type ImageRecord, readRecords, removeRecord, touchRecord, writeRecord } from "./record.ts";

/** Cleared down to this share of its bound. */
const LOW_SHARE = 0.8;
const MEGABYTE = 2 ** 20;

export interface ImageCacheOptions {
  /** Default: of the environment's daemon. */
  readonly client?: Client;
  /** Of the records. */
  readonly folder: string;
  readonly maxBytes: number;
  /** MiB that stay free where the daemon keeps its images. */
  readonly minFreeMb: number;
  /** References of images that stay, whatever their age. */
  readonly pinned: readonly string[];
}

export interface Pruned {
  readonly removed: readonly Removed[];
  /** Of what Tadpole brought and what stays, pinned images not counted. */
  readonly bytes: number;
}

export interface ImageCache {
  /** The image's id; pulled where the daemon does not have it. Throws SandboxError `disk`, `unavailable`. */
  pull(reference: string, signal?: AbortSignal): Promise<string>;
  /** Puts an image that Tadpole has made on record; again, when it is taken for something else. */
  built(id: string, reference: string): void;
  /** By its id or the reference it was asked for by. */
  used(image: string): void;
  /**
   * Removes an image that Tadpole has made, now that what it was made for is gone. False where it stays: a container uses it, another image
   * is made from it, or somebody gave it a name.
   */
  discard(id: string): Promise<boolean>;
  /** Images in use stay, and so do those that somebody else brought or named. */
  prune(): Promise<Pruned>;
}

/** As `/system/df` has it. */
interface ImageUse {
  readonly Id: string;
  readonly Size: number;
  readonly SharedSize: number;
  readonly Containers: number;
  readonly RepoTags: readonly string[] | null;
}

export function createImageCache(options: ImageCacheOptions): ImageCache {
  const { folder } = options;
  let reached = options.client;
  const daemon = (): Client => {
    reached ??= connect();
    return reached;
  };
  const note = (record: Omit<ImageRecord, "lastUsed">) =>
    writeRecord(folder, { ...record, lastUsed: Date.now() });
  return {
    pull: async (reference, signal) => {
      const client = daemon();
      const here = await imageId(client, reference);
      if (here !== undefined) {
        touchRecord(folder, here, Date.now());
        return here;
      }
      const root = await imagesFolder(client);
      if (root !== null) await requireRoom(root, options.minFreeMb, `pulling ${reference}`);
      await pull(client, reference, signal);
      const id = await imageId(client, reference);
      if (id === undefined)
        throw new SandboxError("unavailable", `${reference} was pulled and is not there: pull it again`);
      note({ id, reference, how: "pulled" });
      return id;
    },
    built: (id, reference) => note({ id, reference, how: "built" }),
    used: (image) => {
      const known = readRecords(folder).find(({ id, reference }) => id === image || reference === image);
      if (known !== undefined) touchRecord(folder, known.id, Date.now());
    },
    discard: async (id) => {
      const client = daemon();
      const known = readRecords(folder).find((record) => record.id === id);
      if (isNamed(await tagsOf(client, id), known?.reference)) return false;
      if (!(await remove(client, id))) return false;
      removeRecord(folder, id);
      return true;
    },
    prune: async () => {
      if (readRecords(folder).length === 0) return { removed: [], bytes: 0 };
      const client = daemon();
      const removed: Removed[] = [];
      // What another image is made from is free to go only after that one, which was last used later: it is passed over, then tried again.
      let refused: readonly string[] = [];
      for (;;) {
        const round = await pruneOnce(client, options, refused);
        removed.push(...round.removed);
        if (round.removed.length + round.refused.length === 0) return { removed, bytes: round.bytes };
        refused = round.removed.length > 0 ? [] : [...refused, ...round.refused];
      }
    },
  };
}

interface Removed {
  readonly reference: string;
  readonly bytes: number;
}

async function pruneOnce(
  client: Client,
  { folder, pinned, maxBytes, minFreeMb }: ImageCacheOptions,
  passOver: readonly string[],
): Promise<Pruned & { readonly refused: readonly string[] }> {
  const { Images } = await diskUse(client);
  const found = new Map((Images ?? []).map((image) => [image.Id, image]));
  const pins = new Set(await Promise.all(pinned.map((reference) => imageId(client, reference))));
  const images: (ImageRecord & CachedImage)[] = [];
  for (const record of readRecords(folder)) {
    const image = found.get(record.id);
    if (image === undefined) {
      // An image that another one is made from is not told of: its bytes are the other's. Else somebody removed it.
      if ((await imageId(client, record.id)) === undefined) removeRecord(folder, record.id);
    } else if (!pins.has(record.id)) {
      const ours = !isNamed(image.RepoTags, record.reference);
      const bytes = image.Size - Math.max(0, image.SharedSize);
      const inUse = image.Containers !== 0 || passOver.includes(record.id);
      images.push({ ...record, bytes, inUse, ours });
    }
  }
  const plan = planEviction(images, {
    highBytes: maxBytes,
    lowBytes: maxBytes * LOW_SHARE,
    lackingBytes: await lackingBytes(client, minFreeMb),
  });
  const removed: Removed[] = [];
  const refused: string[] = [];
  for (const id of plan) {
    const { reference, bytes } = images.find((image) => image.id === id)!;
    if (await remove(client, id)) {
      removeRecord(folder, id);
      removed.push({ reference, bytes });
    } else refused.push(id);
  }
  return { removed, bytes: sum(images) - sum(removed), refused };
}

const sum = (list: readonly { readonly bytes: number }[]): number =>
  list.reduce((total, { bytes }) => total + bytes, 0);

/** Somebody has given it a name beside that by which Tadpole asked for it. */
const isNamed = (tags: readonly string[] | null, reference: string | undefined): boolean =>
  (tags ?? []).some((tag) => tag !== reference && tag !== "<none>:<none>");

/** None of an image that is not there. */
async function tagsOf({ docker, where }: Client, id: string): Promise<readonly string[]> {
  try {
    return (await docker.getImage(id).inspect()).RepoTags ?? [];
  } catch (error) {
    if (statusOf(error) === 404) return [];
    throw daemonError(error, where, `looking at the image ${id}`, "unavailable");
  }
}

async function diskUse({ docker, where }: Client): Promise<{ readonly Images: readonly ImageUse[] | null }> {
  try {
    return await docker.df();
  } catch (error) {
    throw daemonError(error, where, "looking at its images", "unavailable");
  }
}

/** False where it came into use meanwhile, or another image is made from it. */
async function remove({ docker, where }: Client, id: string): Promise<boolean> {
  try {
    await docker.getImage(id).remove({ force: false });
    return true;
  } catch (error) {
    const status = statusOf(error);
    if (status === 409) return false;
    if (status === 404) return true;
    throw daemonError(error, where, `removing the image ${id}`, "unavailable");
  }
}

async function pull(
  { docker, where }: Client,
  reference: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    const stream = await docker.pull(reference, signal === undefined ? {} : { abortSignal: signal });
    for await (const { error } of daemonEvents<{ readonly error?: string }>(stream))
      if (error !== undefined) throw new Error(error);
  } catch (error) {
    signal?.throwIfAborted();
    throw daemonError(error, where, `pulling ${reference}`, "unavailable");
  }
}

/** Where the daemon keeps images; null where that is no folder of this machine. */
export async function imagesFolder({ docker, where }: Client): Promise<string | null> {
  try {
    const { DockerRootDir, Name } = (await docker.info()) as { DockerRootDir: string; Name: string };
    // A daemon in a virtual machine answers on a socket, too, and has another name.
    return Name === hostname() ? DockerRootDir : null;
  } catch (error) {
    throw daemonError(error, where, "looking for its folder", "unavailable");
  }
}

async function lackingBytes(client: Client, minFreeMb: number): Promise<number> {
  const folder = await imagesFolder(client);
  return folder === null ? 0 : Math.max(0, minFreeMb * MEGABYTE - (await freeBytes(folder)));
}
