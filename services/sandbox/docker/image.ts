/** The image of sandboxes without one of their own: made on this host once per recipe, by whichever process needs it first. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { IMAGE_HINT, isImageReference } from "../../../core/images.ts";
import { SandboxError } from "../runtime.ts";
import { sha256 } from "../tree/manifest.ts";
import { type Client, connect } from "./client.ts";
import { daemonError, daemonMessage, statusOf } from "./errors.ts";
import { tar } from "./tar.ts";

const RECIPE_FOLDER = join(import.meta.dirname, "../../../infra/images/base");
const RECIPE_FILES = ["Dockerfile", "setup.sh", "debootstrap.sh"] as const;

/** An unreachable registry is given up after this; a slow one pulls 30 MB in it. */
const BUILD_MS = 300_000;
const LOCK_POLL_MS = 500;

export interface ImageOptions {
  readonly client?: Client;
  /** Progress, a line at a time. */
  readonly say?: (line: string) => void;
}

/** The tag carries the recipe's hash: another recipe is another image. */
export const baseImageTag = (): string =>
  `tadpole-base:${sha256(RECIPE_FILES.map((name) => readFileSync(join(RECIPE_FOLDER, name), "utf8")).join("\0")).slice(0, 12)}`;

/**
 * The id (`sha256:…`) of the base image, which is made first where it is missing: by `docker build` where a registry answers, else by
 * debootstrap. One process makes it while the others wait. Throws SandboxError `unavailable` with both reasons and the remedy.
 */
export async function ensureBaseImage(options: ImageOptions = {}): Promise<string> {
  const client = options.client ?? connect();
  const say = options.say ?? (() => {});
  const tag = baseImageTag();
  const found = await imageId(client, tag);
  if (found !== undefined) return found;
  const unlock = await lock(`${client.where} ${tag}`, say);
  try {
    return (await imageId(client, tag)) ?? (await make(client, tag, say));
  } finally {
    unlock();
  }
}

/** Undefined when the daemon does not have it. */
export async function imageId({ docker, where }: Client, reference: string): Promise<string | undefined> {
  if (!isImageReference(reference))
    throw new SandboxError("unavailable", `expected ${IMAGE_HINT}; found ${JSON.stringify(reference)}`);
  try {
    return (await docker.getImage(reference).inspect()).Id;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw daemonError(error, where, `looking for the image ${reference}`, "unavailable");
  }
}

async function make(client: Client, tag: string, say: (line: string) => void): Promise<string> {
  say(`base image ${tag}: docker build`);
  const built = await build(client, tag).catch((error: unknown) => daemonMessage(error));
  if (built === undefined) return tagged(client, tag);
  say(`base image ${tag}: no registry (${built}); debootstrap, about a minute`);
  const imported = await debootstrap(client, tag).catch((error: unknown) => daemonMessage(error));
  if (imported === undefined) return tagged(client, tag);
  throw new SandboxError(
    "unavailable",
    `the base image ${tag} could not be made: docker build: ${built}; debootstrap: ${imported}. ` +
      "Allow the daemon a registry, or type as root: apt-get install debootstrap, or bring the image by docker save and docker load",
  );
}

async function tagged(client: Client, tag: string): Promise<string> {
  await client.docker.getImage(tag).tag({ repo: "tadpole-base", tag: "latest" });
  const id = await imageId(client, tag);
  if (id === undefined) throw new SandboxError("unavailable", `the base image ${tag} was made and is gone`);
  return id;
}

/** Undefined when done, else the reason. */
async function build({ docker }: Client, tag: string): Promise<string | undefined> {
  const context = Buffer.concat([
    ...tar(
      ["Dockerfile", "setup.sh"].map((name) => ({
        type: "file" as const,
        path: name,
        content: readFileSync(join(RECIPE_FOLDER, name)),
        executable: name.endsWith(".sh"),
      })),
    ),
  ]);
  const stream = await docker.buildImage(context as unknown as NodeJS.ReadableStream, {
    t: tag,
    abortSignal: AbortSignal.timeout(BUILD_MS),
  });
  return failureIn(stream);
}

/** The daemon tells of its progress, and of its failure, in lines of JSON. */
function failureIn(stream: NodeJS.ReadableStream): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let rest = "";
    let failure: string | undefined;
    stream.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString("utf8")).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const { error } = line.trim() === "" ? {} : (JSON.parse(line) as { error?: string });
        failure ??= error?.trim();
      }
    });
    stream.on("end", () => resolve(failure));
    stream.on("error", reject);
  });
}

/** Undefined when done, else the reason. */
async function debootstrap({ docker }: Client, tag: string): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "it needs root";
  const folder = mkdtempSync(join(tmpdir(), "tadpole-base-"));
  try {
    const child = spawn("sh", [join(RECIPE_FOLDER, "debootstrap.sh"), folder], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let words = "";
    child.stderr.on("data", (chunk: Buffer) => {
      words = (words + chunk.toString("utf8")).slice(-2000);
    });
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    // The daemon keeps whatever it was given, a broken archive too: the name is given only after a good end.
    const answer = importTar(docker, child.stdout);
    const [code, imported] = await Promise.all([ended, answer]);
    if (code !== 0) return words.trim().split("\n").slice(-2).join("; ") || `it ended with ${code}`;
    const [repo, version] = tag.split(":");
    await docker.getImage(imported).tag({ repo: repo!, tag: version! });
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function importTar(docker: Client["docker"], archive: Readable): Promise<string> {
  const stream = await docker.importImage(archive);
  return new Promise((resolve, reject) => {
    let text = "";
    stream.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
    });
    stream.on("end", () => {
      const id = /sha256:[0-9a-f]{64}/.exec(text)?.[0];
      id === undefined ? reject(new Error(`docker import said: ${text.trim()}`)) : resolve(id);
    });
    stream.on("error", reject);
  });
}

/** One holder per machine: an abstract socket, which the kernel frees however its holder ends. */
async function lock(what: string, say: (line: string) => void): Promise<() => void> {
  const name = `\0tadpole-image-${sha256(what).slice(0, 32)}`;
  for (let turn = 0; ; turn++) {
    const server = createServer((socket) => socket.destroy());
    const taken = await new Promise<boolean>((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        error.code === "EADDRINUSE" ? resolve(false) : reject(error),
      );
      server.listen(name, () => resolve(true));
    });
    if (taken) return () => void server.close();
    if (turn === 0) say("another process is making the base image; waiting for it");
    await sleep(LOCK_POLL_MS);
  }
}
