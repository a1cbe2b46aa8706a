/** How the container of a sandbox is created. Pure. */
import type Docker from "dockerode";
import { commandEnv, MAX_ENTRIES, REPEATABLE_PATH, WORKDIR } from "../inside.ts";
import type { SandboxIdentity, SandboxSpec } from "../runtime.ts";
import { mountParents } from "./mounts.ts";
import { BOOT, HAND_OVER, PROGRAM, quote } from "./program.ts";

const MEGABYTE = 1024 * 1024;

/** The user of the base image; nobody's on the host. */
const AGENT = "1000:1000";

/** /dev/shm counts as memory, which is why it is this small. */
const SHARED_MEMORY_MB = 16;

/** A name in a folder in memory costs the kernel this much, even one that has no content. */
const NAME_BYTES = 192;

/** The kernel counts threads; a Node has seven to eleven, most programs one. */
const TASKS_PER_PROCESS = 4;

/** What root needs to give folders away and to become somebody without any of these. */
const HAND_OVER_CAPABILITIES = ["CHOWN", "SETUID", "SETGID", "SETPCAP"];

/** The daemon's own, and process 1's files: what could tell the kernel to kill it first when memory is short. */
const READ_ONLY_PATHS = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/proc/1"];

export const LABELS = {
  data: "tadpole.data",
  experiment: "tadpole.experiment",
  slot: "tadpole.slot",
  attempt: "tadpole.attempt",
  fence: "tadpole.fence",
  deadline: "tadpole.deadline",
} as const;

export function labelsOf(identity: SandboxIdentity, dataId: string): Record<string, string> {
  return {
    [LABELS.data]: dataId,
    [LABELS.experiment]: identity.experiment,
    [LABELS.slot]: identity.slot,
    [LABELS.attempt]: String(identity.attempt),
    [LABELS.fence]: identity.fence,
    [LABELS.deadline]: String(identity.deadline),
  };
}

/** Undefined where a label is missing or no number. */
export function identityOf(labels: Readonly<Record<string, string>>): SandboxIdentity | undefined {
  const { [LABELS.experiment]: experiment, [LABELS.slot]: slot, [LABELS.fence]: fence } = labels;
  const attempt = Number(labels[LABELS.attempt]);
  const deadline = Number(labels[LABELS.deadline]);
  if (experiment === undefined || slot === undefined || fence === undefined) return undefined;
  if (!Number.isFinite(attempt) || !Number.isFinite(deadline)) return undefined;
  return { experiment, slot, attempt, fence, deadline };
}

export interface ContainerParts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: SandboxSpec;
  readonly image: ImageParts;
  /** Host paths of Node and of the script that every Node program loads. */
  readonly nodePath: string;
  readonly repeatablePath: string;
  /** Processors; fractions allowed. */
  readonly cpus: number;
}

export interface ImageParts {
  readonly id: string;
  /** The sandbox's own tree lies in it, in the writable layer. */
  readonly ownTree: boolean;
  /** `uid:gid` that owns the working tree; `0:0` has no capabilities either. */
  readonly user: string;
  readonly env: Readonly<Record<string, string>>;
  /** Whether the daemon can limit the writable layer. */
  readonly quota: boolean;
  /** Paths it declares volumes. */
  readonly volumes: readonly string[];
}

export const baseImage = (id: string): ImageParts => ({
  id,
  ownTree: false,
  user: AGENT,
  env: {},
  quota: false,
  volumes: [],
});

export const workdirOf = (spec: SandboxSpec): string => spec.image?.workdir ?? WORKDIR;

/** Folders in memory, with their sizes; the tree is not among them where it lies in an image. */
function folders(spec: SandboxSpec, image: ImageParts): { readonly path: string; readonly mb: number }[] {
  const { diskMb, memoryMb } = spec.limits;
  const beside = Math.min(diskMb, Math.ceil(memoryMb / 2));
  if (image.ownTree) return image.volumes.map((path) => ({ path, mb: beside }));
  // Both full leave half the memory to processes, process 1 among them.
  return [
    { path: WORKDIR, mb: diskMb },
    { path: "/tmp", mb: beside },
  ];
}

/** Bytes that a container uses at least once one of its folders in memory has neither block nor name to spare. */
const leastWhenFull = (watched: readonly { readonly mb: number }[]): number =>
  Math.min(MAX_ENTRIES * NAME_BYTES, ...watched.map(({ mb }) => mb * MEGABYTE));

/**
 * Variables of every command. An image's own PATH and settings hold in it, but for those that make output repeatable. Without an image: exactly
 * what the process runtime gives.
 */
export function environmentOf(spec: SandboxSpec, image: ImageParts): Record<string, string> {
  const { PATH, ...rest } = commandEnv({ env: {} });
  return { ...(image.env.PATH === undefined && { PATH: PATH! }), ...image.env, ...rest, ...spec.env };
}

export function containerOptions(parts: ContainerParts): Docker.ContainerCreateOptions {
  const { spec, image } = parts;
  const watched = folders(spec, image);
  const [uid, gid] = image.user.split(":");
  const made = mountParents(
    spec.mounts,
    watched.map(({ path }) => path),
  );
  const handOver = made.length > 0;
  const { memoryMb, processes, diskMb } = spec.limits;
  // Files in memory count as memory of the container: the room for them comes on top.
  const memory = (memoryMb + (image.ownTree ? 0 : diskMb)) * MEGABYTE;
  return {
    name: parts.name,
    Image: image.id,
    Labels: { ...parts.labels },
    User: handOver ? "0:0" : image.user,
    Hostname: "sandbox",
    WorkingDir: workdirOf(spec),
    Entrypoint: [
      ...(handOver
        ? ["/bin/sh", "-c", HAND_OVER, "sh", image.user, made.map(quote).join(" ")]
        : ["/bin/sh", "-c"]),
      BOOT,
      "sh",
    ],
    Cmd: [PROGRAM, "sh", String(leastWhenFull(watched)), ...watched.map(({ path }) => path)],
    Env: Object.entries(environmentOf(spec, image)).map(([name, value]) => `${name}=${value}`),
    // An image's check of its own health would be a process of its own in the sandbox.
    Healthcheck: { Test: ["NONE"] },
    OpenStdin: true,
    StdinOnce: false,
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
    HostConfig: {
      NetworkMode: "none",
      CapDrop: ["ALL"],
      ...(handOver && { CapAdd: HAND_OVER_CAPABILITIES }),
      SecurityOpt: ["no-new-privileges"],
      ReadonlyPaths: READ_ONLY_PATHS,
      ReadonlyRootfs: !image.ownTree,
      Memory: memory,
      MemorySwap: memory,
      PidsLimit: processes * TASKS_PER_PROCESS,
      NanoCpus: Math.round(parts.cpus * 1e9),
      ShmSize: SHARED_MEMORY_MB * MEGABYTE,
      Ulimits: [{ Name: "core", Soft: 0, Hard: 0 }],
      LogConfig: { Type: "none", Config: {} },
      IpcMode: "private",
      RestartPolicy: { Name: "no" },
      Tmpfs: Object.fromEntries(
        watched.map(({ path, mb }) => [
          path,
          `rw,exec,nosuid,nodev,size=${mb}m,nr_inodes=${MAX_ENTRIES},uid=${uid},gid=${gid},mode=0755`,
        ]),
      ),
      ...(image.quota && { StorageOpt: { size: `${diskMb}M` } }),
      Mounts: [
        ...(image.ownTree ? [] : [readOnly(parts.nodePath, "/usr/local/bin/node")]),
        readOnly(parts.repeatablePath, REPEATABLE_PATH),
        ...spec.mounts.map(({ source, target }) => readOnly(source, target)),
      ],
    },
  };
}

/** Unlike `Binds`, a source that is missing is an error, and not an empty folder made in its place. */
const readOnly = (source: string, target: string): Docker.MountSettings => ({
  Type: "bind",
  Source: source,
  Target: target,
  ReadOnly: true,
  BindOptions: { Propagation: "rprivate" },
});
