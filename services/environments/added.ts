/** Environments that a user added: each a catalogue of one entry, with what pins it, below `<data>/environments/added`. */
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { SANDBOX_RUNTIMES } from "../../core/experiment.ts";
import { type Catalogue, loadCatalogue } from "./catalogue.ts";
import { EnvironmentError } from "./errors.ts";
import { environmentsFolder, runtimeFolder } from "./folders.ts";
import { type EnvironmentRecord, RECORD_FILE } from "./record.ts";

export function addedFolder(dataFolder: string): string {
  return join(environmentsFolder(dataFolder), "added");
}

/** Names of what was added to this data folder, sorted. */
export async function addedNames(dataFolder: string): Promise<string[]> {
  const names = await readdir(addedFolder(dataFolder)).catch(() => []);
  return names.filter((name) => !name.startsWith(".")).sort();
}

/** The bundled catalogue and what this data folder has beside it. */
export async function loadEntries(dataFolder: string): Promise<Catalogue> {
  const bundled = await loadCatalogue();
  const folder = addedFolder(dataFolder);
  const names = await addedNames(dataFolder);
  const added = await Promise.all(names.map((name) => loadCatalogue(join(folder, name))));
  return {
    folder: bundled.folder,
    entries: [...bundled.entries, ...added.flatMap(({ entries }) => entries)],
  };
}

export interface RemoveOptions {
  readonly dataFolder: string;
  readonly name: string;
  /** Experiments of the record that use it; not asked when forced. */
  readonly usedBy: () => Promise<readonly string[]>;
  readonly force: boolean;
  /** Removes the image that was made for it, once nothing else of the data folder is of that image (`ImageCache.discard`). */
  readonly discardImage?: (id: string) => Promise<unknown>;
}

/** Removes an added environment and every preparation of it, in whichever runtime. Throws `EnvironmentError`: `unknown`, or `in-use` unless forced. */
export async function removeEnvironment(options: RemoveOptions): Promise<void> {
  const { dataFolder, name, usedBy, force, discardImage } = options;
  const entry = join(addedFolder(dataFolder), name);
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name) || !existsSync(entry)) {
    const { entries } = await loadCatalogue();
    const bundled = entries.some((candidate) => candidate.name === name);
    throw new EnvironmentError(
      "unknown",
      bundled
        ? `${name} belongs to the catalogue; only what tadpole env add brought can be removed`
        : `no environment ${JSON.stringify(name)} was added to this data folder`,
    );
  }
  const users = force ? [] : await usedBy();
  if (users.length > 0)
    throw new EnvironmentError(
      "in-use",
      `${name} is used by ${users.length === 1 ? "the experiment" : "experiments"} ${users.join(", ")}; --force removes it all the same`,
    );
  const { entries } = await loadCatalogue(entry);
  await rm(entry, { recursive: true });
  for (const runtime of SANDBOX_RUNTIMES) {
    const folder = environmentsFolder(runtimeFolder(dataFolder, runtime));
    for (const key of await readdir(folder).catch(() => []))
      if (key.startsWith(`${name}@`)) await rm(join(folder, key), { recursive: true, force: true });
  }
  const images = entries.flatMap(({ image }) => image?.reference ?? []);
  const used = images.length === 0 ? images : await imagesOf(dataFolder);
  for (const image of images) if (!used.includes(image)) await discardImage?.(image);
}

/** Of what is added to a data folder, and of what is prepared there: imported tasks' environments are in no catalogue. */
async function imagesOf(dataFolder: string): Promise<string[]> {
  const { entries } = await loadEntries(dataFolder);
  const images = entries.map(({ image }) => image?.reference);
  for (const runtime of SANDBOX_RUNTIMES) {
    const folder = environmentsFolder(runtimeFolder(dataFolder, runtime));
    for (const key of await readdir(folder).catch(() => [])) {
      const text = await readFile(join(folder, key, RECORD_FILE), "utf8").catch(() => null);
      if (text !== null) images.push((JSON.parse(text) as EnvironmentRecord).entry.image?.reference);
    }
  }
  return images.filter((image) => image !== undefined);
}
