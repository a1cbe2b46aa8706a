/** A real S3-compatible server on a folder of its own, for tests: versitygw, with one bucket. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { requireTool, TOOLS } from "../../infra/tools.ts";
import type { S3Settings } from "../../services/store/s3-settings.ts";

export interface TestS3 {
  readonly settings: S3Settings;
  /** What a process needs to use it, but for TADPOLE_ARTIFACTS' prefix. */
  readonly env: Readonly<Record<string, string>>;
  /** Where an object is, by its key. */
  readonly file: (key: string) => string;
  /** Ends the server by SIGKILL; what it had acknowledged is there after `start`. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const BUCKET = "tadpole-test";
const KEYS = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test-secret" };
const START_MS = 60_000;

/** Sets the AWS variables of this process: the SDK reads them. */
export async function startTestS3(prefix = ""): Promise<TestS3> {
  const program = requireTool(TOOLS.versitygw);
  const root = await mkdtemp(join(tmpdir(), "tadpole-s3-"));
  const data = join(root, "data");
  const meta = join(root, "meta");
  await mkdir(join(data, BUCKET), { recursive: true });
  await mkdir(meta);
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  Object.assign(process.env, KEYS);
  let ended: Promise<unknown> = Promise.resolve();
  let end = () => {};

  async function start(): Promise<void> {
    const server = spawn(
      program,
      ["--port", `127.0.0.1:${port}`, "--quiet", "posix", "--sidecar", meta, data],
      {
        env: { ROOT_ACCESS_KEY: KEYS.AWS_ACCESS_KEY_ID, ROOT_SECRET_KEY: KEYS.AWS_SECRET_ACCESS_KEY },
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    let said = "";
    server.stderr.on("data", (text) => {
      said += text;
    });
    ended = once(server, "exit");
    end = () => void server.kill("SIGKILL");
    const deadline = Date.now() + START_MS;
    while (!(await answers(endpoint))) {
      if (server.exitCode !== null || Date.now() > deadline)
        throw new Error(`versitygw does not serve: ${said}`);
      await sleep(50);
    }
  }
  await start();
  const kill = async () => {
    end();
    await ended;
  };
  return {
    settings: { bucket: BUCKET, prefix, endpoint, region: "us-east-1" },
    env: { ...KEYS, TADPOLE_ARTIFACTS: `s3://${BUCKET}`, TADPOLE_S3_ENDPOINT: endpoint },
    file: (key) => join(data, BUCKET, key),
    kill,
    start,
    async stop() {
      await kill();
      await rm(root, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    (reply) => reply.arrayBuffer().then(() => true),
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
