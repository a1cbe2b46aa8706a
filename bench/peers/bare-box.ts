/**
 * Two boxes by bare dockerode and the commands of a rollout through one stream each: create, attach, start, commands, remove. The containers have the very
 * options of a sandbox's, so that the daemon has the same to do; nothing is recorded, limited in time, cleaned up between commands, compared or judged.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import type { FileChange } from "../../core/task.ts";
import { baseImage, containerOptions } from "../../services/sandbox/docker/container.ts";
import { type SandboxSpec, scanTree, type TarEntry, tar } from "../../services/sandbox/index.ts";
import { mountsIn, REPEATABLE_PATH, WORKDIR } from "../../services/sandbox/inside.ts";
import { makeSkeleton } from "../../services/sandbox/skeleton.ts";

export interface BareBoxes {
  readonly docker: Docker;
  readonly image: string;
  /** For what is mounted into each box. */
  readonly folder: string;
  readonly cpus: number;
}

/** The tree of a spec without what its mounts hide, as an archive; made once, since it is the same for every box. */
export async function archiveOf({ root, overlay, mounts }: SandboxSpec): Promise<Buffer> {
  const files = new Map<string, FileChange>();
  for (const [path, entry] of await scanTree(root)) {
    if (entry.type === "symlink") files.set(path, { kind: "symlink", path, target: entry.target });
    else {
      const content = readFileSync(join(root, path)).toString("base64");
      files.set(path, { kind: "write", path, content, encoding: "base64", executable: entry.executable });
    }
  }
  for (const change of overlay) files.set(change.path, change);
  const hidden = [...mountsIn(WORKDIR, mounts)];
  const entries = [...files.values()].flatMap((change): TarEntry[] => {
    const { path } = change;
    if (change.kind === "delete" || hidden.some((mount) => path.startsWith(`${mount}/`))) return [];
    if (change.kind === "symlink") return [{ type: "symlink", path, target: change.target }];
    const content = Buffer.from(change.content, change.encoding);
    return [{ type: "file", path, content, executable: change.executable === true }];
  });
  return Buffer.concat([...tar(entries)]);
}

let made = 0;
/** By their ids; what ends the process has them removed (`removeBareBoxes`). */
const live = new Map<string, Docker.Container>();

export async function removeBareBoxes(): Promise<void> {
  for (const container of live.values()) await container.remove({ force: true, v: true }).catch(() => {});
}

/** Runs the commands one after the other, each once the one before has ended; their exit codes. */
export async function bareBox(
  boxes: BareBoxes,
  spec: SandboxSpec,
  archive: Buffer,
  commands: readonly string[],
): Promise<number[]> {
  const { docker, folder, image, cpus } = boxes;
  const container = await docker.createContainer({
    ...containerOptions({
      name: `tadpole-bench-${process.pid}-${made++}`,
      labels: {},
      spec,
      image: baseImage(image),
      nodePath: process.execPath,
      repeatablePath: `${makeSkeleton(folder)}${REPEATABLE_PATH.replace("/usr", "")}`,
      cpus,
    }),
    Entrypoint: ["sh", "-c"],
    Cmd: [`head -c ${archive.length} | tar -xmof - && exec sh`],
  });
  live.set(container.id, container);
  try {
    const stream = (await container.attach({
      stream: true,
      stdin: true,
      stdout: true,
      stderr: true,
      hijack: true,
    })) as Duplex;
    const codeOf = codesIn(stream);
    await container.start();
    stream.write(archive);
    const codes: number[] = [];
    for (const [n, command] of commands.entries()) {
      stream.write(`(\n${command}\n) </dev/null; echo "end-${n} $?"\n`);
      codes.push(await codeOf(n));
    }
    stream.destroy();
    return codes;
  } finally {
    await container.remove({ force: true, v: true });
    live.delete(container.id);
  }
}

/** Returns what waits for the exit code of the n-th command. */
function codesIn(stream: Duplex): (n: number) => Promise<number> {
  let text = "";
  let wake = () => {};
  let closed = false;
  stream.on("data", (chunk: Buffer) => {
    text = `${text.slice(-100)}${chunk.toString("latin1")}`;
    wake();
  });
  stream.on("close", () => {
    closed = true;
    wake();
  });
  return async (n) => {
    const end = new RegExp(`end-${n} (\\d+)\n`);
    for (;;) {
      const code = end.exec(text)?.[1];
      if (code !== undefined) return Number(code);
      if (closed) throw new Error(`a bare container ended in command ${n}: ${text}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
  };
}
