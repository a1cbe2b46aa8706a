/** Containers that only look into an image or make one on top of it: no sandbox runs in them. */
import type { Readable } from "node:stream";
import { connectDocker, helperName, type SandboxImage } from "../sandbox/index.ts";
import { EnvironmentError } from "./errors.ts";

type Docker = ReturnType<typeof connectDocker>["docker"];
export type Container = Awaited<ReturnType<Docker["createContainer"]>>;

/** A container of the image, not started yet, for as long as `work` takes. Throws `EnvironmentError("install")`. */
export async function withContainer<T>(
  image: string,
  argv: readonly string[],
  work: (container: Container) => Promise<T>,
): Promise<T> {
  const { docker, where } = connectDocker();
  try {
    const container = await docker.createContainer({
      name: helperName(),
      Image: image,
      Cmd: [...argv],
      Entrypoint: [],
      User: "0",
      NetworkDisabled: true,
    });
    try {
      return await work(container);
    } finally {
      await container.remove({ force: true, v: true });
    }
  } catch (cause) {
    if (cause instanceof EnvironmentError) throw cause;
    throw new EnvironmentError("install", `image ${image} (${where}): ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Runs the container's command to its end. Throws an Error that says `what` it was for. */
export async function runToEnd(container: Container, what: string): Promise<void> {
  await container.start();
  const { StatusCode } = (await container.wait()) as { readonly StatusCode: number };
  if (StatusCode !== 0) throw new Error(`${what} ended with ${StatusCode}`);
}

/** The container's files as an image: its id. What the image below runs by itself is not run by this one. */
export async function commit(
  container: Container,
  label: readonly [name: string, value: string],
  changes: readonly string[] = [],
): Promise<string> {
  const made = (await container.commit({
    changes: ["CMD []", `LABEL ${label[0]}=${JSON.stringify(label[1])}`, ...changes],
  })) as { readonly Id: string };
  return made.Id;
}

/** A tar archive of what is at the path; undefined where nothing is. */
export async function archiveAt(container: Container, path: string): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of await container.getArchive({ path })) chunks.push(chunk as Uint8Array);
  } catch (error) {
    if ((error as { readonly statusCode?: number }).statusCode === 404) return undefined;
    throw error;
  }
  return Buffer.concat(chunks);
}

/** Throws `EnvironmentError("unknown")` where the container has no such folder; `remedy` says how another is named. */
export async function assertFolder(
  container: Container,
  what: string,
  folder: string,
  remedy: string,
): Promise<void> {
  const answer = (await container
    .infoArchive({ path: folder })
    .catch((cause: { readonly statusCode?: number }) => {
      if (cause.statusCode !== 404) throw cause;
      throw new EnvironmentError("unknown", `${what} has no folder ${folder}; ${remedy}`, { cause });
    })) as Readable;
  // It has no body, but until it is read or destroyed its connection keeps the process alive.
  answer.destroy();
}

/**
 * The image by its id, with `workdir` or its own working folder. Throws `EnvironmentError`: `install`, or `unknown` without a folder; `remedy` says how one
 * is named.
 */
export async function locateImage(
  reference: string,
  workdir: string | undefined,
  remedy: string,
): Promise<SandboxImage> {
  const { docker, where } = connectDocker();
  const found = await docker
    .getImage(reference)
    .inspect()
    .catch((cause: Error) => {
      throw new EnvironmentError(
        "install",
        `docker:${reference}: expected an image that the daemon at ${where} has: ${cause.message}`,
        { cause },
      );
    });
  const folder = workdir ?? found.Config.WorkingDir;
  if (!/^\/./.test(folder ?? ""))
    throw new EnvironmentError(
      "unknown",
      `docker:${reference}: expected a working folder, found ${JSON.stringify(folder)}; ${remedy}`,
    );
  return { reference: found.Id, workdir: folder };
}
