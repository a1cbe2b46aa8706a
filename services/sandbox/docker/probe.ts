/** What a container must know of an image that holds its own working tree. */
import { SandboxError, type SandboxImage } from "../runtime.ts";
import type { Client } from "./client.ts";
import type { ImageParts } from "./container.ts";
import { daemonError, daemonMessage } from "./errors.ts";
import { Demultiplexer } from "./frames.ts";
import { helperName } from "./helper.ts";

/**
 * What a container of an image that holds its own tree needs to know. The owner of the working tree is asked of the image itself, by a
 * container that does nothing else: without capabilities nobody else can write there, root included.
 */
export async function imageParts(client: Client, image: SandboxImage): Promise<ImageParts> {
  const { docker, where } = client;
  try {
    const found = await docker.getImage(image.reference).inspect();
    // Unlike the layer, a volume has no bound, and it is no part of what is measured: something in memory takes its place.
    const volumes = Object.keys(found.Config?.Volumes ?? {});
    const over = volumes.find((path) => `${image.workdir}/`.startsWith(`${path.replace(/\/+$/, "")}/`));
    if (over !== undefined)
      throw new SandboxError(
        "boot",
        `the image declares ${over}, where its working tree lies, a VOLUME; build it without`,
      );
    const { user, quota } = await probe(client, found.Id, image.workdir);
    const env = Object.fromEntries(
      (found.Config?.Env ?? []).map((line) => [
        line.slice(0, line.indexOf("=")),
        line.slice(line.indexOf("=") + 1),
      ]),
    );
    return { id: found.Id, ownTree: true, user, env, quota, volumes };
  } catch (error) {
    throw daemonError(error, where, `looking at the image ${image.reference}`, "boot");
  }
}

async function probe(
  { docker }: Client,
  id: string,
  workdir: string,
): Promise<{ user: string; quota: boolean }> {
  const create = (quota: boolean) =>
    docker.createContainer({
      name: helperName(),
      Image: id,
      Entrypoint: ["stat", "-c", "%u:%g"],
      Cmd: [workdir],
      User: "0:0",
      HostConfig: {
        NetworkMode: "none",
        CapDrop: ["ALL"],
        SecurityOpt: ["no-new-privileges"],
        ...(quota && { StorageOpt: { size: "64M" } }),
      },
    });
  // Only some storage drivers, on some file systems, limit a layer; the daemon says so when it is asked to.
  let quota = true;
  const container = await create(true).catch((error: unknown) => {
    if (!/storage-opt|pquota|quota/i.test(daemonMessage(error))) throw error;
    quota = false;
    return create(false);
  });
  try {
    const stream = await container.attach({ stream: true, stdout: true, stderr: true, hijack: true });
    let said = "";
    const parts = new Demultiplexer((_, chunk) => {
      said += chunk.toString("utf8");
    });
    stream.on("data", (chunk: Buffer) => parts.push(chunk));
    await container.start();
    await container.wait();
    const user = /^\d+:\d+$/m.exec(said)?.[0];
    if (user === undefined)
      throw new SandboxError("boot", `the image has no working tree at ${workdir}: ${said.trim()}`);
    return { user, quota };
  } finally {
    await container.remove({ force: true, v: true });
  }
}
