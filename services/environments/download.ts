/** Files from a registry, kept in the data folder by their sha256. */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EnvironmentError } from "./errors.ts";
import { environmentsFolder, moveIntoPlace, temporaryPath } from "./folders.ts";

/** Source packages are far smaller. */
const MAX_BYTES = 128 * 1024 * 1024;

export interface Download {
  readonly dataFolder: string;
  readonly sha256: string;
  /** For messages: the file, and what pins it. */
  readonly what: string;
  /** The file's address; undefined = the registry has no such file. */
  readonly find: () => Promise<string | undefined>;
  readonly signal?: AbortSignal;
}

/** The file with that hash; fetched when the data folder has none, or a changed one. Throws `EnvironmentError("install")`. */
export async function download(wanted: Download): Promise<Uint8Array> {
  const folder = join(environmentsFolder(wanted.dataFolder), "downloads");
  const file = join(folder, wanted.sha256);
  const kept = await readFile(file).catch(() => null);
  if (kept !== null && hashOf(kept) === wanted.sha256) return kept;
  let bytes: Uint8Array;
  try {
    const address = await wanted.find();
    if (address === undefined) throw new Error("the registry has no file with this hash");
    bytes = await fetchBytes(address, wanted.signal);
  } catch (cause) {
    wanted.signal?.throwIfAborted();
    throw new EnvironmentError("install", `${wanted.what}: ${whyOf(cause as Error)}`, { cause });
  }
  const found = hashOf(bytes);
  if (found !== wanted.sha256)
    throw new EnvironmentError("install", `${wanted.what}: the registry's file has sha256 ${found}`);
  await mkdir(folder, { recursive: true });
  const temporary = temporaryPath(folder, "file");
  await writeFile(temporary, bytes);
  await moveIntoPlace(temporary, file, { replace: kept !== null });
  return bytes;
}

/** What `fetch` keeps for itself: its own message is "fetch failed". */
export const whyOf = (error: Error): string =>
  error.cause instanceof Error ? error.cause.message : error.message;

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function fetchBytes(address: string, signal?: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(address, signal === undefined ? {} : { signal });
  if (!response.ok || response.body === null) throw new Error(`${address} answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`${address} is larger than ${MAX_BYTES / 1024 / 1024} MB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
