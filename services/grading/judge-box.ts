/**
 * The box of a verifier that has an image of its own: the agent's box is made again, artifacts are taken out of it, and it is gone before
 * the box that judges is there.
 */
import { mkdirSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { VerifierBox } from "../../core/task.ts";
import {
  ArchiveError,
  type ExecResult,
  type Sandbox,
  SandboxError,
  type SandboxIdentity,
  type SandboxRuntime,
  tar,
} from "../sandbox/index.ts";
import { ARTIFACT_LIMITS, type Artifact, artifactOf, isTooLarge } from "./artifacts.ts";
import { stopOf } from "./command-results.ts";
import type { TestRunRequest } from "./types.ts";

/** For an archive of the largest artifacts, in either direction. */
const COPY_SECONDS = 120;
/** Headers and padding of the archive beside what its files hold. */
const ARCHIVE_BYTES = ARTIFACT_LIMITS.bytes + 1024 * ARTIFACT_LIMITS.entries;
const MESSAGE_BYTES = 64 * 1024;

/** Seconds that a box of the agent's may take besides the verifier's own limit. */
export const collectSeconds = ({ collect, artifacts }: VerifierBox): number =>
  collect.reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds, 0) +
  COPY_SECONDS * (artifacts.length + 1);

/**
 * `agentBox` makes the box with the agent's change. Throws SandboxError, `path` where the artifacts are more than a box is given: that is
 * the agent's doing.
 */
export async function judgeBox(
  runtime: SandboxRuntime,
  box: VerifierBox,
  {
    agentBox,
    identity,
    signal,
  }: Pick<TestRunRequest, "signal"> & {
    readonly agentBox: () => Promise<Sandbox>;
    readonly identity: () => SandboxIdentity;
  },
): Promise<Sandbox> {
  const artifacts = await collected(await agentBox(), box, signal);
  const { image, workdir, env, limits } = box;
  const sandbox = await runtime.create(
    { root: nothing(), image: { reference: image, workdir }, overlay: [], mounts: [], limits, env },
    identity(),
  );
  try {
    await place(sandbox, artifacts, signal);
    return sandbox;
  } catch (error) {
    await sandbox.destroy();
    throw error;
  }
}

/** An empty folder, this user's alone: of the image's tree there is no copy here, all of it is as the image has it. */
function nothing(): string {
  const folder = join(tmpdir(), `tadpole-empty-${userInfo().uid}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
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
  { collect, artifacts }: VerifierBox,
  signal: AbortSignal | undefined,
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
      const result = await sandbox.exec(argv, limits(COPY_SECONDS, ARCHIVE_BYTES));
      const artifact = taken(source, result);
      if (artifact !== undefined) found.push(artifact);
      if (isTooLarge(found)) throw tooLarge(source);
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
  if (result.stdoutTruncated) throw tooLarge(source);
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

const tooLarge = (source: string): SandboxError =>
  refused(
    source,
    `is too large: all together have at most ${ARTIFACT_LIMITS.bytes} bytes in ${ARTIFACT_LIMITS.entries} files`,
  );

const saidBy = ({ stderr }: ExecResult): string => Buffer.from(stderr).toString("utf8").trim();

/** What the image has at those paths is gone first, so that nothing is written through a link. `$1` folders, then files. */
const PLACE = `folders=$1
shift
for path; do
  if [ "$folders" -gt 0 ]; then
    folders=$((folders - 1))
    [ -d "$path" ] && [ ! -L "$path" ] || rm -rf -- "$path"
    mkdir -p -- "$path" && find "$path" -mindepth 1 -delete || exit 1
  else
    rm -rf -- "$path" || exit 1
  fi
done
exec tar -C / -xmof -`;

async function place(
  sandbox: Sandbox,
  artifacts: readonly Artifact[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const folders = artifacts.filter(({ kind }) => kind === "folder").map(({ source }) => source);
  const files = artifacts.filter(({ kind }) => kind === "file").map(({ source }) => source);
  const argv = ["/bin/sh", "-c", PLACE, "place", String(folders.length), ...folders, ...files];
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
