/** Finds the Temporal CLI, and gets it where it is missing: by the official download, else built from source with Go. */
import { createHash } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { run } from "./run.mjs";

/** v1.6 and later cannot be built by `go install` (their go.mod has replace directives). */
export const temporalVersion = "1.5.1";

/** sha256 of the archives of the release, as published with it. */
const archives = {
  "linux-x64": ["linux_amd64", "ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d"],
  "linux-arm64": ["linux_arm64", "bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5"],
};

export function cacheFolder(env) {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "tadpole");
}

export function cachedTemporal(env) {
  return join(cacheFolder(env), `temporal-${temporalVersion}`, "temporal");
}

export function findOnPath(name, env) {
  for (const folder of (env.PATH ?? "").split(delimiter)) {
    const file = join(folder, name);
    if (folder && isProgram(file)) return file;
  }
  return null;
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

export function findTemporal(env) {
  const onPath = findOnPath("temporal", env);
  if (onPath) return { path: onPath, from: "PATH" };
  const cached = cachedTemporal(env);
  return isProgram(cached) ? { path: cached, from: "cache" } : null;
}

export function temporalRelease(platform, arch) {
  const archive = archives[`${platform}-${arch}`];
  if (!archive) return null;
  const [name, sha256] = archive;
  const base = "https://github.com/temporalio/cli/releases/download";
  return { url: `${base}/v${temporalVersion}/temporal_cli_${temporalVersion}_${name}.tar.gz`, sha256 };
}

/** Nothing appears at `target` before the archive's hash was checked and the program has said its version. */
export async function downloadTemporal(release, target, seconds) {
  const reply = await fetch(release.url, { signal: AbortSignal.timeout(seconds * 1000) });
  if (!reply.ok) throw new Error(`${release.url} answered ${reply.status}`);
  const bytes = Buffer.from(await reply.arrayBuffer());
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  if (sha256 !== release.sha256)
    throw new Error(`${release.url} has sha256 ${sha256}, expected ${release.sha256}`);
  await place(target, async (folder) => {
    writeFileSync(join(folder, "archive.tar.gz"), bytes);
    await run("tar", ["-xzf", join(folder, "archive.tar.gz"), "-C", folder, "temporal"]);
  });
}

/** The command line that builds the CLI into `folder`; without symbols it is a sixth smaller. */
export function goInstallCommand(go, folder) {
  const source = `github.com/temporalio/cli/cmd/temporal@v${temporalVersion}`;
  return { file: go, args: ["install", "-ldflags", "-s -w", source], env: { GOBIN: folder } };
}

export async function buildTemporal(env, target, go) {
  await place(target, async (folder) => {
    const command = goInstallCommand(go, folder);
    await run(command.file, command.args, { env: { ...env, ...command.env }, seconds: 1800 });
  });
}

/** Lets `make` put a program `temporal` into a new folder beside `target`, tries it, and moves it there in one step. */
async function place(target, make) {
  mkdirSync(dirname(target), { recursive: true });
  const folder = mkdtempSync(join(dirname(target), "new-"));
  try {
    await make(folder);
    const program = join(folder, "temporal");
    chmodSync(program, 0o755);
    await run(program, ["--version"], { seconds: 60 });
    renameSync(program, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
