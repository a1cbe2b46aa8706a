/** Docker daemons other than the machine's: over TCP with certificates, and on a user's own socket. A real one is started for it. */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { pinImage } from "../../services/environments/image.ts";
import { connectionFrom } from "../../services/sandbox/docker/client.ts";
import {
  connectDocker,
  createRuntime,
  ensureBaseImage,
  type SandboxRuntime,
} from "../../services/sandbox/index.ts";
import { type SecondDaemon, startSecondDaemon } from "../support/second-daemon.ts";

const isMissing = (program: string): boolean => {
  try {
    execFileSync("which", [program], { stdio: "ignore" });
    return false;
  } catch {
    return true;
  }
};
const missing = ["dockerd", "openssl"].filter(isMissing);
const needs = process.getuid?.() !== 0 ? "root" : missing.join(", ");

// Its base image is the machine's own daemon's.
const reason = needs || (process.env.CI === "true" ? "" : ((await noDaemon()) ?? ""));

async function noDaemon(): Promise<string | undefined> {
  return ensureBaseImage().then(
    () => undefined,
    (error: Error) => error.message,
  );
}

describe.skipIf(reason !== "")(
  reason === "" ? "a daemon of its own" : `a daemon of its own (needs ${reason})`,
  () => {
    let daemon: SecondDaemon;
    let scratch: string;

    beforeAll(async () => {
      scratch = mkdtempSync(join(tmpdir(), "daemons-"));
      daemon = await startSecondDaemon();
      const image = connectDocker().docker.getImage(await ensureBaseImage());
      const { RepoTags } = await image.inspect();
      const there = connectDocker({ socketPath: join(daemon.runtimeFolder, "docker.sock") }).docker;
      const loading = await there.loadImage(await connectDocker().docker.getImage(RepoTags[0]!).get());
      for await (const _ of loading);
    }, 180_000);
    afterEach(() => {
      vi.unstubAllEnvs();
    });
    afterAll(async () => {
      await daemon?.close();
      rmSync(scratch, { recursive: true, force: true });
    });

    function overTls(certificates: string): SandboxRuntime {
      vi.stubEnv("DOCKER_HOST", daemon.host);
      vi.stubEnv("DOCKER_TLS_VERIFY", "1");
      vi.stubEnv("DOCKER_CERT_PATH", certificates);
      return createRuntime("docker", { dataFolder: join(scratch, "data"), nodePath: process.execPath });
    }
    /** Which daemon answers: each keeps its images in a folder of its own. */
    const folderOf = async ({ docker }: ReturnType<typeof connectDocker>): Promise<string> =>
      ((await docker.info()) as { readonly DockerRootDir: string }).DockerRootDir;

    it("has sandboxes over TLS, and keeps nothing of them", async () => {
      const runtime = overTls(daemon.certificates);
      expect(await runtime.unavailable()).toBeNull();
      const root = join(scratch, "root");
      mkdirSync(root, { recursive: true });
      writeFileSync(join(root, "a.txt"), "one\n");
      const fence = randomUUID();
      const sandbox = await runtime.create(
        { root, overlay: [], mounts: [], limits: { memoryMb: 128, processes: 32, diskMb: 16 }, env: {} },
        { experiment: "tls", slot: "a", attempt: 0, fence, deadline: Date.now() + 60_000 },
      );
      const { docker } = connectDocker();
      const warnings: Error[] = [];
      const onWarning = (warning: Error) => void warnings.push(warning);
      process.on("warning", onWarning);
      // More than the connection takes at once.
      const stdin = Buffer.alloc(2_000_000, "x");
      const { stdout } = await sandbox.exec(["bash", "-c", "cat a.txt -; echo two > b.txt"], {
        timeoutSeconds: 30,
        outputBytes: 3_000_000,
        stdin,
      });
      process.off("warning", onWarning);
      expect(Buffer.concat([Buffer.from("one\n"), stdin]).equals(stdout)).toBe(true);
      expect(warnings).toEqual([]);
      expect(await sandbox.changes()).toMatchObject([{ kind: "write", path: "b.txt" }]);
      expect(await docker.listContainers({ all: true })).toHaveLength(1);
      await sandbox.destroy();
      expect(await docker.listContainers({ all: true })).toEqual([]);
    }, 60_000);

    it("does not know a stranger's certificate, and a plain connection meets a closed door: both are told", async () => {
      expect(await overTls(daemon.strangers).unavailable()).toMatch(
        /https:\/\/127\.0\.0\.1:\d+ .*certificate.*; for TLS set DOCKER_TLS_VERIFY=1/,
      );
      const runtime = overTls(daemon.certificates);
      vi.stubEnv("DOCKER_TLS_VERIFY", "");
      expect(await runtime.unavailable()).toMatch(/http:\/\/127\.0\.0\.1:\d+ .*HTTPS server.*; for TLS set/);
    }, 60_000);

    it("is found at a user's own socket where the system has none", async () => {
      const connection = connectionFrom({
        env: { XDG_RUNTIME_DIR: daemon.runtimeFolder },
        canUse: (path) => path !== "/var/run/docker.sock" && existsSync(path),
        read: (path) => readFileSync(path, "utf8"),
      });
      expect(connection).toEqual({ socketPath: join(daemon.runtimeFolder, "docker.sock") });
      const folder = join(daemon.runtimeFolder, "data");
      expect(await folderOf(connectDocker(connection))).toBe(folder);
      // A socket speaks no TLS, whatever the environment says of other connections.
      vi.stubEnv("DOCKER_TLS_VERIFY", "1");
      vi.stubEnv("DOCKER_CERT_PATH", daemon.certificates);
      expect(await folderOf(connectDocker(connection))).toBe(folder);
      expect(await folderOf(connectDocker())).not.toBe(folder);
    });

    it("keeps no volume of an image that declares one, once its container is gone", async () => {
      overTls(daemon.certificates);
      const { docker } = connectDocker();
      const base = await ensureBaseImage();
      const container = await docker.createContainer({ Image: base, Cmd: ["true"] });
      const made = (await container.commit({
        changes: ["VOLUME /cache", "WORKDIR /repo"],
      })) as { readonly Id: string };
      await container.remove();
      await pinImage(made.Id, undefined);
      const { Volumes } = await docker.listVolumes();
      expect(Volumes).toEqual([]);
    }, 60_000);
  },
);
