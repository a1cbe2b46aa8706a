/** Which images Tadpole brought to this host and when each was last used: a file per image, so that several processes may write. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownerName } from "../label.ts";

export interface ImageRecord {
  /** `sha256:…` */
  readonly id: string;
  /** By which it was asked for, for people. */
  readonly reference: string;
  readonly how: "pulled" | "built";
  /** Milliseconds since the epoch. */
  readonly lastUsed: number;
}

const fileOf = (folder: string, id: string): string => join(folder, `${id.replace(/[^0-9a-z]/gi, "-")}.json`);

/** Sorted by id. What cannot be read is left out: its image then counts as somebody else's. */
export function readRecords(folder: string): readonly ImageRecord[] {
  const names = listFolder(folder).filter((name) => name.endsWith(".json"));
  return names.flatMap((name) => readRecord(join(folder, name)) ?? []).sort((a, b) => (a.id < b.id ? -1 : 1));
}

export function writeRecord(folder: string, record: ImageRecord): void {
  mkdirSync(folder, { recursive: true });
  const file = fileOf(folder, record.id);
  const staging = `${file}.${ownerName("new")}`;
  writeFileSync(staging, JSON.stringify(record));
  renameSync(staging, file);
}

/** Only of an image that is on record. */
export function touchRecord(folder: string, id: string, now: number): void {
  const known = readRecord(fileOf(folder, id));
  if (known !== undefined && known.lastUsed < now) writeRecord(folder, { ...known, lastUsed: now });
}

export const removeRecord = (folder: string, id: string): void => rmSync(fileOf(folder, id), { force: true });

function readRecord(file: string): ImageRecord | undefined {
  try {
    const { id, reference, how, lastUsed } = JSON.parse(readFileSync(file, "utf8")) as ImageRecord;
    return typeof id === "string" && typeof lastUsed === "number"
      ? { id, reference, how, lastUsed }
      : undefined;
  } catch {
    return undefined;
  }
}

function listFolder(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}
