/** The folders below a weights folder: which are whole, how old they are, and how one goes. */
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { CHECKPOINT_MARKER } from "../../core/checkpoint.ts";
import { isSafePath } from "./manifest.ts";

/** Where folders are put together and taken apart; engines are never sent there. */
export const INCOMING = ".incoming";

const marker = z.object({
  format: z.literal("tadpole-weights"),
  version: z.literal(1),
  policy: z.string(),
  /** sha256 of the manifest. */
  manifest: z.string(),
  files: z.array(
    z.object({ path: z.string().refine(isSafePath), sha256: z.string(), bytes: z.int().min(0) }),
  ),
});
export type WeightsMarker = z.infer<typeof marker>;

export interface WeightsFolder {
  /** The policy's id. */
  readonly name: string;
  readonly marker: WeightsMarker;
  /** When it was last asked for, milliseconds. */
  readonly usedMs: number;
}

async function readMarker(folder: string): Promise<WeightsMarker | null> {
  try {
    return marker.parse(JSON.parse(await readFile(join(folder, CHECKPOINT_MARKER), "utf8")));
  } catch {
    // None, or none of ours: the folder is not whole.
    return null;
  }
}

/** By the marker and the size of every file; each byte was proven before the folder got its name. */
export async function isWholeFolder(folder: string, manifest: string): Promise<boolean> {
  const found = await readMarker(folder);
  if (found?.manifest !== manifest) return false;
  for (const { path, bytes } of found.files) {
    const size = await stat(join(folder, path)).then(
      (file) => file.size,
      () => null,
    );
    if (size !== bytes) return false;
  }
  return true;
}

export async function writeMarker(folder: string, content: WeightsMarker): Promise<void> {
  const file = join(folder, CHECKPOINT_MARKER);
  const handle = await open(`${file}.partial`, "w");
  await handle
    .writeFile(`${JSON.stringify(content, null, 2)}\n`)
    .then(() => handle.sync())
    .finally(() => handle.close());
  await rename(`${file}.partial`, file);
}

export async function touchMarker(folder: string): Promise<void> {
  const now = new Date();
  await utimes(join(folder, CHECKPOINT_MARKER), now, now);
}

/** Whole ones, the last used first; whatever else lies there is left alone. */
export async function listFolders(weightsFolder: string): Promise<WeightsFolder[]> {
  const names = await readdir(weightsFolder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const found: WeightsFolder[] = [];
  for (const name of names) {
    const folder = join(weightsFolder, name);
    const content = name === INCOMING ? null : await readMarker(folder);
    if (content === null || content.policy !== name) continue;
    const { mtimeMs } = await stat(join(folder, CHECKPOINT_MARKER));
    found.push({ name, marker: content, usedMs: mtimeMs });
  }
  return found.sort((a, b) => b.usedMs - a.usedMs || (a.name < b.name ? -1 : 1));
}

/**
 * Removes whole folders but those of `needed` and the `recent` last used, which a rollback or another experiment may ask for next. What goes loses
 * its name first, so that none is ever half there under it. Returns the names of those that went.
 */
export async function removeFolders(
  weightsFolder: string,
  needed: ReadonlySet<string>,
  recent: number,
): Promise<string[]> {
  const goes = (await listFolders(weightsFolder)).slice(recent).filter(({ name }) => !needed.has(name));
  for (const { name } of goes) {
    const away = join(weightsFolder, INCOMING, `removing-${name}`);
    await mkdir(join(weightsFolder, INCOMING), { recursive: true });
    await rm(away, { recursive: true, force: true });
    await rename(join(weightsFolder, name), away);
    await rm(away, { recursive: true, force: true });
  }
  return goes.map(({ name }) => name);
}
