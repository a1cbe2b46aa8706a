/** Which ports a stack listens on: given by hand, remembered, or derived from its data folder. */
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { StackError } from "./errors.ts";

export const portNames = [
  "temporal",
  "temporalUi",
  "temporalHttp",
  "temporalMetrics",
  "postgres",
  "policy",
  "orchestrateMetrics",
  "sandboxMetrics",
  "gpuMetrics",
] as const;
export type PortName = (typeof portNames)[number];
export type Ports = Readonly<Record<PortName, number>>;

const variables: Partial<Record<PortName, string>> = {
  temporal: "TADPOLE_TEMPORAL_PORT",
  temporalUi: "TADPOLE_TEMPORAL_UI_PORT",
  postgres: "TADPOLE_POSTGRES_PORT",
  policy: "TADPOLE_POLICY_PORT",
};

/**
 * Below Linux's range of ephemeral ports (from 32768), so that no outgoing connection takes a port between choosing it
 * and binding it, nor while a crashed process is restarted.
 */
const firstPort = 20000;
const lastPort = 32000;

/** Ports given by environment variables; anything but a port number is refused. */
export function givenPorts(env: NodeJS.ProcessEnv): Partial<Record<PortName, number>> {
  const given: Partial<Record<PortName, number>> = {};
  for (const name of portNames) {
    const variable = variables[name];
    const text = variable && env[variable];
    if (!text) continue;
    const port = Number(text);
    if (!Number.isInteger(port) || port < 1 || port > 65535)
      throw new StackError("settings", `${variable}: expected a port number from 1 to 65535, got "${text}"`);
    const twin = portNames.find((other) => given[other] === port);
    if (twin) throw new StackError("settings", `${variable}: port ${port} is also ${variables[twin]}`);
    given[name] = port;
  }
  return given;
}

export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Where the search begins: the same folder asks for the same ports, different folders seldom meet. */
export function basePort(folder: string): number {
  const hash = createHash("sha256").update(folder).digest().readUInt32BE(0);
  return firstPort + (hash % (lastPort - firstPort));
}

/** Throws StackError `port` when a port given by hand is occupied; a remembered one that is occupied is replaced. */
export async function stackPorts(
  folder: string,
  env: NodeJS.ProcessEnv,
  remembered: Ports | null,
  free: (port: number) => Promise<boolean> = isFree,
): Promise<Ports> {
  const given = givenPorts(env);
  const taken = new Set<number>(Object.values(given));
  const chosen: Partial<Record<PortName, number>> = {};
  let next = basePort(folder);
  for (const name of portNames) {
    const byHand = given[name];
    if (byHand !== undefined) {
      if (!(await free(byHand)))
        throw new StackError(
          "port",
          `${variables[name]}: port ${byHand} is occupied by another program; give a free port, or none to have one chosen`,
        );
      chosen[name] = byHand;
      continue;
    }
    let port = remembered?.[name] ?? next++;
    for (let tries = 0; taken.has(port) || !(await free(port)); tries++) {
      if (tries > 2000)
        throw new StackError("port", `no free port between ${firstPort} and ${lastPort + 2000}`);
      port = next++;
    }
    taken.add(port);
    chosen[name] = port;
  }
  return chosen as Ports;
}
