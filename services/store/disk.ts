/** The room that a disk must have before anything more is written to it. */
import { statfs } from "node:fs/promises";
import { ArtifactError } from "./errors.ts";

export interface DiskWatermark {
  /** Any folder of the file system. */
  readonly folder: string;
  /** MiB that must be free for a process without privileges. */
  readonly minFreeMb: number;
}

/** Throws ArtifactError `disk-full` when less is free. */
export async function requireDisk({ folder, minFreeMb }: DiskWatermark): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeMb = (bavail * bsize) / 2 ** 20;
  if (freeMb < minFreeMb)
    throw new ArtifactError(
      "disk-full",
      `${folder} has ${Math.floor(freeMb)} MB of free disk, the watermark is ${minFreeMb} MB (TADPOLE_MIN_FREE_MB): free some, then resume; nothing was begun`,
    );
}
