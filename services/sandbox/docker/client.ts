/** Which Docker daemon is spoken to, as its own client decides it: environment variables first, then the usual sockets. */
import { accessSync, constants, readFileSync } from "node:fs";
import Docker from "dockerode";
import { SandboxError } from "../runtime.ts";

/** What of the machine decides; a parameter, so that the decision is a function of it. */
export interface Machine {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a socket is there, and for this user. */
  readonly canUse: (path: string) => boolean;
  readonly read: (path: string) => string;
}

function canUse(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

const thisMachine: Machine = {
  env: process.env,
  canUse,
  read: (path) => readFileSync(path, "utf8"),
};

export type Connection =
  | { readonly socketPath: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly protocol: "http" | "https";
      readonly ca?: string;
      readonly cert?: string;
      readonly key?: string;
    };

const DEFAULT_SOCKET = "/var/run/docker.sock";

/** Ports as Docker's own client assumes them. */
const PLAIN_PORT = 2375;
const TLS_PORT = 2376;

/**
 * DOCKER_HOST (`unix://`, `tcp://`), DOCKER_TLS_VERIFY, DOCKER_CERT_PATH; without DOCKER_HOST the system's socket, else the rootless one of
 * $XDG_RUNTIME_DIR, else the one Docker Desktop makes at home. Throws SandboxError `unavailable` for a value it cannot follow.
 */
export function connectionFrom(machine: Machine = thisMachine): Connection {
  const { env } = machine;
  const host = env.DOCKER_HOST;
  if (host === undefined || host === "") return { socketPath: usualSocket(machine) };
  const [, scheme, rest] = /^(\w+):\/\/(.*)$/.exec(host) ?? [];
  if (scheme === "unix") return { socketPath: rest || DEFAULT_SOCKET };
  if (scheme !== "tcp" && scheme !== "http" && scheme !== "https")
    throw refused(`DOCKER_HOST=${host}`, "unix:///path/to/docker.sock or tcp://host:port");
  const tls = (env.DOCKER_TLS_VERIFY ?? "") !== "" || scheme === "https";
  const url = parse(host.replace(/^tcp:/, tls ? "https:" : "http:"));
  if (url === undefined) throw refused(`DOCKER_HOST=${host}`, "tcp://host:port");
  return {
    // A bracketed IPv6 address is a URL's spelling, not a host's.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(url.port) || (tls ? TLS_PORT : PLAIN_PORT),
    protocol: tls ? "https" : "http",
    ...(tls && certificates(machine)),
  };
}

function usualSocket({ env, canUse }: Machine): string {
  const candidates = [
    DEFAULT_SOCKET,
    ...(env.XDG_RUNTIME_DIR ? [`${env.XDG_RUNTIME_DIR}/docker.sock`] : []),
    ...(env.HOME ? [`${env.HOME}/.docker/run/docker.sock`] : []),
  ];
  return candidates.find(canUse) ?? DEFAULT_SOCKET;
}

function certificates({ env, read }: Machine): { ca: string; cert: string; key: string } {
  const folder = env.DOCKER_CERT_PATH || `${env.HOME ?? ""}/.docker`;
  const file = (name: string): string => {
    try {
      return read(`${folder}/${name}`);
    } catch {
      throw refused(
        `${folder}/${name}`,
        "ca.pem, cert.pem and key.pem in DOCKER_CERT_PATH, or no DOCKER_TLS_VERIFY",
      );
    }
  };
  return { ca: file("ca.pem"), cert: file("cert.pem"), key: file("key.pem") };
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

const refused = (what: string, expected: string): SandboxError =>
  new SandboxError("unavailable", `${what} cannot be used; expected ${expected}`);

/** For messages: where the daemon was looked for. */
export const describeConnection = (connection: Connection): string =>
  "socketPath" in connection
    ? connection.socketPath
    : `${connection.protocol}://${connection.host}:${connection.port}`;

export interface Client {
  readonly docker: Docker;
  /** For messages. */
  readonly where: string;
}

export function connect(connection: Connection = connectionFrom()): Client {
  // dockerode fills what is left undefined from the environment, by rules of its own; null is not filled.
  const nothing = {
    socketPath: null,
    host: null,
    port: null,
    ca: null,
    cert: null,
    key: null,
    protocol: "http",
  };
  const docker = new Docker({ ...nothing, ...connection } as object);
  return { docker, where: describeConnection(connection) };
}
