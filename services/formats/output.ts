/** Exports appear whole, and only in the place of an older export. */
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { FileChange } from "../../core/task.ts";
import { contentOf } from "../sandbox/index.ts";

export type ExportErrorKind = "input" | "unsupported";

/** `input`: a wrong argument; `unsupported`: what is on record cannot be said in the format. */
export class ExportError extends Error {
  readonly kind: ExportErrorKind;
  constructor(kind: ExportErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ExportError";
    this.kind = kind;
  }
}

/** Stands in every export; a folder without it is somebody else's. */
export const MARKER = "export.json";

export interface ExportMarker {
  readonly format: "harbor" | "atif";
  readonly experiment: string;
  /** Names of what was exported. */
  readonly exported: readonly string[];
  readonly skipped: readonly { readonly id: string; readonly reason: string }[];
}

/**
 * Runs `fill` on an empty folder beside `out` and puts it into its place by a rename, with the marker that `fill` returned. Throws ExportError
 * `input` where `out` holds anything but an export; then nothing is changed.
 */
export async function writeExport(
  out: string,
  fill: (folder: string) => Promise<ExportMarker>,
): Promise<ExportMarker> {
  const target = resolve(out);
  const old = await present(target);
  await mkdir(dirname(target), { recursive: true });
  const staging = await mkdtemp(join(dirname(target), `.${basename(target)}-`));
  try {
    const fresh = join(staging, "new");
    await mkdir(fresh);
    const marker = await fill(fresh);
    await writeFile(join(fresh, MARKER), `${JSON.stringify(marker, null, 1)}\n`);
    if (old) await rename(target, join(staging, "old"));
    await rename(fresh, target);
    return marker;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** True for an older export or an empty folder, false where there is nothing. */
async function present(target: string): Promise<boolean> {
  let names: string[];
  try {
    names = await readdir(target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return false;
    throw new ExportError("input", `${target}: expected a folder or nothing, found ${code}`, {
      cause: error,
    });
  }
  if (names.length === 0) return true;
  const marker = names.includes(MARKER) ? await readMarker(join(target, MARKER)) : undefined;
  if (marker !== undefined) {
    const own = new Set([MARKER, ...marker.exported]);
    const other = names.find((name) => !own.has(name));
    if (other === undefined) return true;
    throw new ExportError(
      "input",
      `${target}: expected an older export and nothing else, found ${other}, which would be lost; move it away or give another --out`,
    );
  }
  throw new ExportError(
    "input",
    `${target}: expected an older export (a folder with ${MARKER}) or nothing, found ${names[0]}; give another --out`,
  );
}

async function readMarker(path: string): Promise<ExportMarker | undefined> {
  try {
    const marker = JSON.parse(await readFile(path, "utf8")) as ExportMarker;
    return (marker.format === "harbor" || marker.format === "atif") && Array.isArray(marker.exported)
      ? marker
      : undefined;
  } catch {
    return undefined;
  }
}

/** Paths are relative to `folder` and stay below it. */
export async function writeFiles(folder: string, files: readonly FileChange[]): Promise<void> {
  for (const file of files) {
    if (file.kind === "delete") continue;
    const path = join(folder, file.path);
    await mkdir(dirname(path), { recursive: true });
    if (file.kind === "symlink") await symlink(file.target, path);
    else {
      await writeFile(path, contentOf(file));
      await chmod(path, file.executable === true ? 0o755 : 0o644);
    }
  }
}
