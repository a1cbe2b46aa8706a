/** Docker by dockerode, with as little around it as there can be: what a sandbox's own way is compared with. */
import { PassThrough } from "node:stream";
import { finished } from "node:stream/promises";
import type Docker from "dockerode";
import type { BenchContext } from "../bench.ts";

/** A container that does nothing, for the length of a bench. */
export async function idleContainer(
  context: BenchContext,
  docker: Docker,
  image: string,
): Promise<Docker.Container> {
  const container = await docker.createContainer({
    Image: image,
    Cmd: ["sleep", "infinity"],
    HostConfig: { NetworkMode: "none" },
  });
  context.defer(() => container.remove({ force: true, v: true }));
  await container.start();
  return container;
}

/** A new exec: made, started, its output read to the end and taken apart, its exit code asked for. */
export async function execInside(
  docker: Docker,
  container: Docker.Container,
  argv: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  const exec = await container.exec({ Cmd: [...argv], AttachStdout: true, AttachStderr: true });
  const stream = await exec.start({});
  const chunks: Buffer[] = [];
  const out = new PassThrough().on("data", (chunk: Buffer) => chunks.push(chunk));
  docker.modem.demuxStream(stream, out, out);
  await finished(stream, { writable: false });
  const { ExitCode } = await exec.inspect();
  return { code: ExitCode, output: Buffer.concat(chunks).toString("utf8") };
}
