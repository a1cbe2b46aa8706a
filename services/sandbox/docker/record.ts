/** What a host notes of its containers: which one a folder's sandbox is, and whose they all are. */
import { readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { sha256 } from "../tree/manifest.ts";

/** Which container a folder's sandbox is, and what its process 1 listens to. */
export interface ContainerRecord {
  readonly id: string;
  readonly key: string;
}

export function readRecord(folder: string): ContainerRecord | undefined {
  try {
    return JSON.parse(readFileSync(`${folder}/container.json`, "utf8"));
  } catch {
    return undefined;
  }
}

export function writeRecord(folder: string, record: ContainerRecord): void {
  const staging = `${folder}/container.json.new`;
  writeFileSync(staging, JSON.stringify(record), { mode: 0o600 });
  renameSync(staging, `${folder}/container.json`);
}

/** Tells the containers of one folder of records from another's on the same daemon; also of a folder that is gone. */
export const dataIdOf = (root: string): string => sha256(realPath(root)).slice(0, 12);

function realPath(path: string): string {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch (error) {
    const parent = dirname(whole);
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === whole) throw error;
    return join(realPath(parent), basename(whole));
  }
}
