/**
 * A policy's model as a folder `<weights folder>/<policy id>`, which engines load. It is put together under `.incoming/` and gets its name by
 * rename, after every byte was proven by its hash and the marker was written: so under its name it is whole, and what a crash left is gone on
 * with by the next attempt.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { chmod, link, mkdir, open, readdir, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { CheckpointFile } from "../../core/checkpoint.ts";
import type { PolicyRef } from "../../core/policy.ts";
import { ArtifactError, type ArtifactStore } from "../store/index.ts";
import { INCOMING, isWholeFolder, listFolders, touchMarker, writeMarker } from "./folders.ts";
import { readManifest } from "./manifest.ts";

/** By folder: two in one process would put the same files into the same place. Of several processes, the first rename wins. */
const inProgress = new Map<string, Promise<string>>();

/**
 * The folder's path. Throws TrainerError `model` for a checkpoint that is no manifest; ArtifactError `missing`, `damaged`, or `disk-full`, after
 * which nothing of it is left.
 */
export function materialise(
  artifacts: ArtifactStore,
  policy: PolicyRef,
  weightsFolder: string,
): Promise<string> {
  const folder = join(weightsFolder, policy.id);
  const running = inProgress.get(folder);
  if (running !== undefined) return running;
  const made = make(artifacts, policy, weightsFolder).finally(() => inProgress.delete(folder));
  inProgress.set(folder, made);
  return made;
}

async function make(artifacts: ArtifactStore, policy: PolicyRef, weightsFolder: string): Promise<string> {
  const folder = join(weightsFolder, policy.id);
  if (await isWholeFolder(folder, policy.checkpoint.sha256)) {
    await touchMarker(folder);
    return folder;
  }
  const { model } = await readManifest(artifacts, policy);
  const incoming = join(weightsFolder, INCOMING, policy.id);
  try {
    await mkdir(incoming, { recursive: true });
    await fill(artifacts, model, incoming, weightsFolder);
    await writeMarker(incoming, {
      format: "tadpole-weights",
      version: 1,
      policy: policy.id,
      manifest: policy.checkpoint.sha256,
      files: model.map(({ path, artifact }) => ({ path, sha256: artifact.sha256, bytes: artifact.bytes })),
    });
    // What stands there under the name is not whole, or this would not have been begun.
    await rm(folder, { recursive: true, force: true });
    await rename(incoming, folder);
    await syncFolder(weightsFolder);
  } catch (error) {
    // Another process was faster.
    if (await isWholeFolder(folder, policy.checkpoint.sha256)) return folder;
    if (!isDiskFull(error)) throw error;
    await rm(incoming, { recursive: true, force: true });
    throw new ArtifactError(
      "disk-full",
      `no space left for the weights of ${policy.id} in ${weightsFolder}: free some, then resume; what is served stays as it is`,
      { cause: error },
    );
  }
  return folder;
}

function isDiskFull(error: unknown): boolean {
  const { code, kind } = error as { code?: string; kind?: string };
  return code === "ENOSPC" || code === "EDQUOT" || kind === "disk-full";
}

async function fill(
  artifacts: ArtifactStore,
  files: readonly CheckpointFile[],
  incoming: string,
  weightsFolder: string,
): Promise<void> {
  const wanted = new Set(files.map(({ path }) => path));
  for (const path of await filesBelow(incoming))
    if (!wanted.has(path)) await rm(join(incoming, path), { force: true });
  const siblings = await sameFiles(weightsFolder);
  const left: CheckpointFile[] = [];
  for (const file of files) if (!(await have(file, incoming, siblings))) left.push(file);
  await requireRoom(weightsFolder, left);
  for (const { path, artifact } of left) {
    const file = join(incoming, path);
    await mkdir(dirname(file), { recursive: true });
    await artifacts.getFile(artifact, file);
    // Versions share files: one that is written into would change in all of them.
    await chmod(file, 0o444);
  }
}

/** From an attempt before, or linked from another version. Believed by its content alone. */
async function have(
  { path, artifact }: CheckpointFile,
  incoming: string,
  siblings: ReadonlyMap<string, string>,
): Promise<boolean> {
  const file = join(incoming, path);
  if (await hasHash(file, artifact.sha256)) return true;
  await rm(file, { force: true });
  const sibling = siblings.get(artifact.sha256);
  if (sibling === undefined) return false;
  await mkdir(dirname(file), { recursive: true });
  // A file system without links, or a version that was just removed: it is copied instead.
  const linked = await link(sibling, file).then(
    () => true,
    () => false,
  );
  if (linked && (await hasHash(file, artifact.sha256))) return true;
  await rm(file, { force: true });
  return false;
}

async function hasHash(file: string, sha256: string): Promise<boolean> {
  const hash = createHash("sha256");
  try {
    await pipeline(createReadStream(file), hash);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  return hash.digest("hex") === sha256;
}

/** Files of the versions that are there, by hash. */
async function sameFiles(weightsFolder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { name, marker } of await listFolders(weightsFolder))
    for (const { path, sha256 } of marker.files) found.set(sha256, join(weightsFolder, name, path));
  return found;
}

async function requireRoom(weightsFolder: string, files: readonly CheckpointFile[]): Promise<void> {
  const bytes = files.reduce((sum, { artifact }) => sum + artifact.bytes, 0);
  const { bavail, bsize } = await statfs(weightsFolder);
  if (bytes > bavail * bsize)
    throw new ArtifactError(
      "disk-full",
      `${weightsFolder}: ${bytes} bytes are needed, ${bavail * bsize} free`,
    );
}

async function filesBelow(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true });
  const files: string[] = [];
  for (const path of found) if ((await stat(join(folder, path))).isFile()) files.push(path);
  return files;
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}
