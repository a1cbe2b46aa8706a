/**
 * The box of a verifier for which something is collected: the agent's box is made again, artifacts are taken out of it, and it is gone before
 * the box that judges is there.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Collected, VerifierBox } from "../../core/task.ts";
import {
  ArchiveError,
  type ExecResult,
  type Sandbox,
  SandboxError,
  type SandboxIdentity,
  type SandboxRuntime,
  tar,
} from "../sandbox/index.ts";
import { type Artifact, type ArtifactLimits, artifactOf, isTooLarge } from "./artifacts.ts";
import { stopOf } from "./command-results.ts";
import type { TestRunRequest } from "./types.ts";

/** For an archive of the largest artifacts, in either direction. */
const COPY_SECONDS = 120;
/** Headers and padding of the archive beside what its files hold. */
const archiveBytes = ({ bytes, entries }: ArtifactLimits): number => bytes + 1024 * entries;
const MESSAGE_BYTES = 64 * 1024;

/** Seconds that a box of the agent's may take besides the verifier's own limit. */
export const collectSeconds = ({ collect, artifacts }: Collected): number =>
  collect.reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds, 0) +
  COPY_SECONDS * (artifacts.length + 1);

export interface Boxes extends Pick<TestRunRequest, "signal"> {
  /** With the agent's change. */
  readonly agentBox: () => Promise<Sandbox>;
  readonly judge: () => Promise<Sandbox>;
  /** Absolute path of the agent's tree in the box that judges, where it has that. */
  readonly tree?: string | undefined;
  readonly artifactLimits: ArtifactLimits;
}

/** Throws SandboxError, `path` where the artifacts are more than a box is given: that is the agent's doing. */
export async function judgeBox(wanted: Collected, boxes: Boxes): Promise<Sandbox> {
  const artifacts = await collected(await boxes.agentBox(), wanted, boxes);
  const sandbox = await boxes.judge();
  try {
    await place(sandbox, artifacts, boxes);
    return sandbox;
  } catch (error) {
    await sandbox.destroy();
    throw error;
  }
}

/** A box of the verifier's own image. Of the image's tree there is no copy here, so that all of it is as the image has it. */
export async function boxOfImage(
  runtime: SandboxRuntime,
  { image, workdir, env, limits }: VerifierBox,
  identity: SandboxIdentity,
): Promise<Sandbox> {
  const root = mkdtempSync(join(tmpdir(), "tadpole-empty-"));
  const spec = { root, image: { reference: image, workdir }, overlay: [], mounts: [], limits, env };
  try {
    return await runtime.create(spec, identity);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Says on its first line what there is. A file that is a link is none: what it leads to is not what was asked for. Programs of the agent's tree are not found. */
const TAKE = `PATH=/usr/sbin:/usr/bin:/sbin:/bin
source=$1
shift
if [ -d "$source" ]; then
  echo folder
  exec tar -C "$source" --hard-dereference -cf - "$@" .
fi
if [ -f "$source" ] && [ ! -L "$source" ]; then
  echo file
  exec tar -C "\${source%/*}/" --hard-dereference -cf - -- "\${source##*/}"
fi
echo nothing`;

async function collected(
  sandbox: Sandbox,
  { collect, artifacts }: Collected,
  { signal, artifactLimits }: Boxes,
): Promise<readonly Artifact[]> {
  const limits = (timeoutSeconds: number, outputBytes: number) => ({
    timeoutSeconds,
    outputBytes,
    ...(signal && { signal }),
  });
  try {
    for (const { argv, timeoutSeconds } of collect)
      await sandbox.exec(argv, limits(timeoutSeconds, MESSAGE_BYTES));
    const found: Artifact[] = [];
    for (const { source, exclude } of artifacts) {
      const excluded = exclude.map((pattern) => `--exclude=${pattern}`);
      const argv = ["/bin/sh", "-c", TAKE, "take", source, ...excluded];
      const result = await sandbox.exec(argv, limits(COPY_SECONDS, archiveBytes(artifactLimits)));
      if (result.stdoutTruncated && stopOf(result) === undefined) throw tooLarge(source, artifactLimits);
      const artifact = taken(source, result);
      if (artifact !== undefined) found.push(artifact);
      if (isTooLarge(found, artifactLimits)) throw tooLarge(source, artifactLimits);
    }
    return found;
  } finally {
    await sandbox.destroy();
  }
}

/**
 * What tar could not read, or what went on changing, is left out, as what is not there is. Hooks may have run the agent's code: whatever else is
 * wrong here may be its doing.
 */
function taken(source: string, result: ExecResult): Artifact | undefined {
  const stop = stopOf(result);
  if (stop !== undefined) throw refused(source, `could not be read to its end (${stop})`);
  const output = Buffer.from(result.stdout);
  const end = output.indexOf("\n");
  const kind = output.toString("latin1", 0, Math.max(0, end));
  if (kind === "nothing") return undefined;
  if (kind !== "folder" && kind !== "file") throw refused(source, `cannot be read: ${saidBy(result)}`);
  try {
    return artifactOf(source, kind, output.subarray(end + 1));
  } catch (cause) {
    if (!(cause instanceof ArchiveError)) throw cause;
    throw refused(source, `cannot be read: ${cause.message}`, { cause });
  }
}

const refused = (source: string, why: string, options?: ErrorOptions): SandboxError =>
  new SandboxError("path", `artifact ${source} ${why}`, options);

const tooLarge = (source: string, { bytes, entries }: ArtifactLimits): SandboxError =>
  refused(source, `is too large: all together have at most ${bytes} bytes in ${entries} files`);

const saidBy = ({ stderr }: ExecResult): string => Buffer.from(stderr).toString("utf8").trim();

/** What the box has at those paths is gone first, so that nothing is written through a link. `$1` folders above others, `$2` folders, then files. */
const PLACE = `PATH=/usr/sbin:/usr/bin:/sbin:/bin
above=$1
folders=$2
shift 2
real() {
  [ -d "$1" ] && [ ! -L "$1" ] || rm -rf -- "$1"
  mkdir -p -- "$1"
}
for path; do
  if [ "$above" -gt 0 ]; then
    above=$((above - 1))
    real "$path" || exit 1
  elif [ "$folders" -gt 0 ]; then
    folders=$((folders - 1))
    real "$path" && find "$path" -mindepth 1 -delete || exit 1
  else
    rm -rf -- "$path" || exit 1
  fi
done
exec tar -C / -xmof -`;

/** Of the agent's tree, where any of them may be a link of its making. */
function foldersBetween(tree: string, path: string): string[] {
  if (!path.startsWith(`${tree}/`)) return [];
  const parts = path.slice(tree.length + 1).split("/");
  return parts.slice(1).map((_, depth) => `${tree}/${parts.slice(0, depth + 1).join("/")}`);
}

async function place(
  sandbox: Sandbox,
  artifacts: readonly Artifact[],
  { signal, tree }: Boxes,
): Promise<void> {
  const above = artifacts.flatMap(({ source }) => (tree === undefined ? [] : foldersBetween(tree, source)));
  const folders = artifacts.filter(({ kind }) => kind === "folder").map(({ source }) => source);
  const files = artifacts.filter(({ kind }) => kind === "file").map(({ source }) => source);
  const counts = [above, folders].map(({ length }) => String(length));
  const argv = ["/bin/sh", "-c", PLACE, "place", ...counts, ...above, ...folders, ...files];
  const result = await sandbox.exec(argv, {
    timeoutSeconds: COPY_SECONDS,
    outputBytes: MESSAGE_BYTES,
    stdin: Buffer.concat([...tar(artifacts.flatMap(({ entries }) => entries))]),
    ...(signal && { signal }),
  });
  if (result.exitCode === 0) return;
  const said = saidBy(result);
  if (result.diskFull === true || /No space left/.test(said))
    throw new SandboxError("path", `the artifacts do not fit into the verifier's box: ${said}`);
  throw new SandboxError("boot", `the artifacts cannot be put into the verifier's box: ${said}`);
}
