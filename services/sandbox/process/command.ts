/** The bubblewrap command line of one command in one sandbox. Pure. */
import { WORKDIR } from "../inside.ts";
import type { ExecLimits, SandboxLimits, SandboxSpec } from "../runtime.ts";

/** The user inside; nobody's on the host. */
const UID = "1000";

/** Where Node lies inside, first on PATH. */
const NODE_PATH = "/usr/local/bin/node";

/** Folders of the host's /usr that hold other people's sources, packages among them; seen empty inside. */
export const MASKED = [
  "/usr/local",
  "/usr/src",
  "/usr/lib/node_modules",
  "/usr/share/nodejs",
  "/usr/share/node_modules",
  "/usr/lib/nodejs",
  "/usr/lib/python3/dist-packages",
  "/usr/share/python-wheels",
  "/usr/lib/google-cloud-sdk",
  "/usr/share/miniconda",
] as const;

/** The host, as far as sandboxes see it; found once per runtime. */
export interface System {
  readonly bwrap: string;
  readonly node: string;
  /** Made-up /etc: accounts, hosts, the loader's cache. */
  readonly etc: string;
  /** An empty folder, mounted over what is masked. */
  readonly empty: string;
  /** Holds `bin/node`, the mount point of Node. */
  readonly local: string;
  /** Those of MASKED that exist. */
  readonly masked: readonly string[];
  /** Top-level folders beside /usr: links into it (`bin -> usr/bin`) or folders of their own. */
  readonly top: readonly { readonly path: string; readonly link: string | null }[];
}

export interface Folders {
  readonly tree: string;
  readonly tmp: string;
}

/** /dev/shm counts as memory, which is why it is this small. */
const SHARED_MEMORY_BYTES = 16 * 1024 * 1024;

/** Writable address space a process may have beyond the memory limit: an idle Node has 570 MB of it. Catches what outruns the watch. */
const DATA_SLACK_MB = 2048;

/**
 * Arguments of bwrap that run `argv`. The command's parent, a shell, is process 1: when it ends, the kernel kills every
 * process of the namespace and bwrap has waited for them all, so nothing outlives a command.
 */
export function bwrapArguments(
  system: System,
  folders: Folders,
  mounts: SandboxSpec["mounts"],
  statusFd: number,
  limits: { readonly sandbox: SandboxLimits; readonly exec: Pick<ExecLimits, "cpuSeconds"> },
  argv: readonly string[],
): string[] {
  return [
    ...["--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"],
    ...["--cap-drop", "ALL", "--uid", UID, "--gid", UID, "--hostname", "sandbox"],
    ...["--json-status-fd", String(statusFd), "--as-pid-1"],
    ...["--ro-bind", "/usr", "/usr"],
    ...system.masked.flatMap((path) => [
      "--ro-bind",
      path === "/usr/local" ? system.local : system.empty,
      path,
    ]),
    ...["--ro-bind", system.node, NODE_PATH],
    ...system.top.flatMap(({ path, link }) =>
      link === null ? ["--ro-bind", path, path] : ["--symlink", link, path],
    ),
    ...["--ro-bind", system.etc, "/etc"],
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--size", String(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"],
    ...["--bind", folders.tmp, "/tmp", "--bind", folders.tree, WORKDIR],
    ...mounts.flatMap(({ source, target }) => ["--ro-bind", source, target]),
    ...["--remount-ro", "/", "--chdir", WORKDIR, "--"],
    ...["/bin/sh", "-c", limitScript(limits.sandbox, limits.exec.cpuSeconds ?? null), "sh", ...argv],
  ];
}

/**
 * `exit $?` keeps the shell from replacing itself by the command, which would make the command process 1. The shell's own stderr leads
 * nowhere: it would tell of a command that a signal ended (`Terminated`), in the middle of what that command printed.
 */
function limitScript(sandbox: SandboxLimits, cpuSeconds: number | null): string {
  const megabyte = 1024 * 1024;
  return [
    "ulimit -c 0",
    `ulimit -d ${(sandbox.memoryMb + DATA_SLACK_MB) * 1024}`,
    `ulimit -f ${(sandbox.diskMb * megabyte) / 512}`,
    ...(cpuSeconds === null ? [] : cpuLimits(cpuSeconds)),
    "exec 9>&2 2>/dev/null",
    '( exec "$@" 2>&9 9>&- )',
    "exit $?",
  ].join("\n");
}

/** SIGXCPU at the limit, SIGKILL a second later for what ignores it. */
function cpuLimits(cpuSeconds: number): string[] {
  const seconds = Math.max(1, Math.ceil(cpuSeconds));
  return [`ulimit -S -t ${seconds}`, `ulimit -H -t ${seconds + 1}`];
}
