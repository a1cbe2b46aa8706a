/** Temporal: the command of the local server, and connections to that or any other one. */
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client, Connection } from "@temporalio/client";
import type { NativeConnection } from "@temporalio/worker";
import { findTemporal } from "../bootstrap/temporal.mjs";
import { StackError } from "./errors.ts";
import { stackFiles } from "./paths.ts";
import type { Ports } from "./ports.ts";
import type { TemporalSettings, TlsSettings } from "./state.ts";

export const defaultNamespace = "default";

/** How long a server may take to answer before it counts as unreachable. */
const answerSeconds = 10;

interface TlsOptions {
  readonly clientCertPair?: { readonly crt: Buffer; readonly key: Buffer };
  readonly serverRootCACertificate?: Buffer;
  readonly serverNameOverride?: string;
}

/** What both `Connection.connect` and `NativeConnection.connect` take. */
export interface TemporalConnectionOptions {
  readonly address: string;
  readonly apiKey?: string;
  readonly tls?: true | TlsOptions;
}

/** Null when the environment names no server, so that the stack runs its own. */
export function temporalFromEnv(env: NodeJS.ProcessEnv = process.env): TemporalSettings | null {
  const address = env.TEMPORAL_ADDRESS;
  if (!address) return null;
  if (!/^[^\s:/]+:\d+$|^\[[\da-f:]+\]:\d+$/i.test(address))
    throw new StackError("settings", `TEMPORAL_ADDRESS: expected HOST:PORT, got "${address}"`);
  return {
    address,
    namespace: env.TEMPORAL_NAMESPACE || defaultNamespace,
    apiKeyVariable: env.TEMPORAL_API_KEY ? "TEMPORAL_API_KEY" : null,
    tls: tlsFromEnv(env),
  };
}

/**
 * By the names that Temporal's own clients read: https://docs.temporal.io/develop/environment-configuration. The shorter ones of the client's pair are of
 * before there were those.
 */
function tlsFromEnv(env: NodeJS.ProcessEnv): TlsSettings | null {
  const named = (...variables: string[]) => {
    const variable = variables.find((name) => env[name]) ?? variables[0]!;
    const file = env[variable];
    if (file && !existsSync(file))
      throw new StackError("settings", `${variable}: expected a PEM file, but ${file} does not exist`);
    return file || undefined;
  };
  const { TEMPORAL_TLS: on, TEMPORAL_TLS_SERVER_NAME: serverName } = env;
  if (on && !/^(true|false|1|0)$/i.test(on))
    throw new StackError("settings", `TEMPORAL_TLS: expected true or false, got "${on}"`);
  const cert = named("TEMPORAL_TLS_CLIENT_CERT_PATH", "TEMPORAL_TLS_CERT");
  const key = named("TEMPORAL_TLS_CLIENT_KEY_PATH", "TEMPORAL_TLS_KEY");
  const ca = named("TEMPORAL_TLS_SERVER_CA_CERT_PATH");
  if ((cert === undefined) !== (key === undefined))
    throw new StackError(
      "settings",
      "TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH: expected both paths or neither",
    );
  const given = {
    ...(cert && key ? { cert, key } : {}),
    ...(ca ? { ca } : {}),
    ...(serverName ? { serverName } : {}),
  };
  const wanted = Object.keys(given).length > 0;
  if (wanted && on && /^(false|0)$/i.test(on))
    throw new StackError("settings", "TEMPORAL_TLS: it is off, but certificates or a server name are given");
  return wanted || (on && /^(true|1)$/i.test(on)) ? given : null;
}

export function connectionOptions(
  settings: TemporalSettings,
  env: NodeJS.ProcessEnv = process.env,
): TemporalConnectionOptions {
  const { address, apiKeyVariable, tls } = settings;
  const apiKey = apiKeyVariable ? env[apiKeyVariable] : undefined;
  if (apiKeyVariable && !apiKey)
    throw new StackError(
      "settings",
      `${apiKeyVariable}: this stack's Temporal needs the key, but it is not set`,
    );
  const secure = tls === null ? apiKey !== undefined : tlsOptions(tls);
  return { address, ...(apiKey === undefined ? {} : { apiKey }), ...(secure ? { tls: secure } : {}) };
}

function tlsOptions({ cert, key, ca, serverName }: TlsSettings): true | TlsOptions {
  const options = {
    ...(cert && key ? { clientCertPair: { crt: readFileSync(cert), key: readFileSync(key) } } : {}),
    ...(ca ? { serverRootCACertificate: readFileSync(ca) } : {}),
    ...(serverName ? { serverNameOverride: serverName } : {}),
  };
  return Object.keys(options).length > 0 ? options : true;
}

export interface TemporalClient {
  readonly client: Client;
  readonly connection: Connection;
  readonly namespace: string;
}

/** For faces. Throws StackError `unreachable` after that many seconds. The caller closes `connection`. */
export async function connectTemporal(
  settings: TemporalSettings,
  seconds = answerSeconds,
): Promise<TemporalClient> {
  const options = connectionOptions(settings);
  await answers(settings.address, seconds);
  const { Client, Connection } = await import("@temporalio/client");
  const connection = await Connection.connect({ ...options, connectTimeout: seconds * 1000 }).catch(
    (error) => {
      throw unreachable(settings.address, error);
    },
  );
  const client = new Client({ connection, namespace: settings.namespace });
  return { client, connection, namespace: settings.namespace };
}

/** For workers: the native connection they poll over. Throws StackError `unreachable`. */
export async function connectWorker(settings: TemporalSettings): Promise<NativeConnection> {
  const options = connectionOptions(settings);
  await answers(settings.address, answerSeconds);
  const { NativeConnection } = await import("@temporalio/worker");
  return NativeConnection.connect(options).catch((error) => {
    throw unreachable(settings.address, error);
  });
}

function unreachable(address: string, cause: unknown): StackError {
  const reason = cause instanceof Error ? cause.message.split("\n")[0] : String(cause);
  return new StackError("unreachable", `Temporal at ${address} does not answer (${reason})`, { cause });
}

/** Waits until something accepts a connection; a server that is just restarting gets its seconds. */
async function answers(address: string, seconds: number): Promise<void> {
  const split = address.lastIndexOf(":");
  const host = address.slice(0, split).replace(/^\[|\]$/g, "");
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    try {
      return await tcpProbe(host, Number(address.slice(split + 1)), deadline - Date.now());
    } catch (error) {
      if (Date.now() + 250 >= deadline) throw unreachable(address, error);
      await sleep(250);
    }
  }
}

function tcpProbe(host: string, port: number, milliseconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    socket.setTimeout(Math.max(1, milliseconds), () => socket.destroy(new Error("timed out")));
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
  });
}

/** Where the local server's HTTP API tells whether the namespace is served: cheaper than a gRPC client in the supervisor. */
export function namespaceUrl(ports: Ports): string {
  return `http://127.0.0.1:${ports.temporalHttp}/api/v1/namespaces/${defaultNamespace}`;
}

/** The program of the local server. Throws StackError `missing`. */
export function temporalProgram(env: NodeJS.ProcessEnv = process.env): string {
  const program = findTemporal(env);
  if (program) return program.path;
  throw new StackError(
    "missing",
    "temporal: the Temporal CLI is neither on PATH nor in the cache; run node infra/bootstrap.mjs to get it",
  );
}

export function temporalCommand(folder: string, ports: Ports, env: NodeJS.ProcessEnv) {
  const args = [
    ...["server", "start-dev", "--ip", "127.0.0.1", "--namespace", defaultNamespace],
    ...["--port", String(ports.temporal), "--ui-port", String(ports.temporalUi)],
    ...["--http-port", String(ports.temporalHttp), "--metrics-port", String(ports.temporalMetrics)],
    ...["--db-filename", stackFiles(folder).temporalDatabase],
    // The write-ahead log halves the time of a run and still survives SIGKILL.
    ...["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"],
    ...["--log-level", "warn"],
  ];
  return { file: temporalProgram(env), args };
}
