/**
 * The workflow bundle, made once per state of the code and kept in the data folder. Bundling runs in a process of its own: it
 * needs more memory than the worker it is for, and that memory would stay with the worker.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { packageRoot } from "../infra/stack/paths.ts";

/** Bundles of several checkouts may be in use in one data folder (docs/upgrading.md). */
const KEPT = 4;

/** Names the workflows' code: 16 hex digits of the sha256 of everything that enters the bundle: workflows, core, the packages' versions. */
export function buildId(): string {
  const hash = createHash("sha256").update(readFileSync(join(packageRoot, "package-lock.json")));
  for (const folder of ["workflows", "core"]) {
    for (const file of readdirSync(join(packageRoot, folder)).sort()) {
      if (file.endsWith(".ts")) hash.update(file).update(readFileSync(join(packageRoot, folder, file)));
    }
  }
  return hash.digest("hex").slice(0, 16);
}

/** Path of the bundle for today's code; made if it is not there. */
export async function workflowBundle(dataFolder: string): Promise<string> {
  const file = join(dataFolder, "workflow-bundles", `${buildId()}.js`);
  if (!existsSync(file))
    await promisify(execFile)(process.execPath, [import.meta.filename, file], { maxBuffer: 1 << 24 });
  return file;
}

async function make(file: string): Promise<void> {
  const { bundleWorkflowCode, DefaultLogger } = await import("@temporalio/worker");
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(packageRoot, "workflows/index.ts"),
    logger: new DefaultLogger("ERROR"),
  });
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, code);
  renameSync(`${file}.${process.pid}`, file);
  removeOld(folder);
}

/** Those made last stay. */
function removeOld(folder: string): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  // Another process may be making or removing one just now.
  const made = new Map(files.map((file) => [file, statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0]));
  for (const file of files.sort((a, b) => made.get(b)! - made.get(a)!).slice(KEPT))
    rmSync(file, { force: true });
}

if (import.meta.main) await make(process.argv[2]!);
