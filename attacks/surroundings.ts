/** What of the host an attack may want to reach: listeners that count who came, and a file. All of it is made for the suite. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import type { Surroundings } from "./types.ts";

export const HOST_SECRET = "the-host-s-own-secret-58213";

export interface Host extends Surroundings {
  /** Connections so far. */
  connections(): number;
  /** Whether the file is as it was made. */
  fileIsIntact(): boolean;
  close(): Promise<void>;
}

export async function openHost(): Promise<Host> {
  // Not below /tmp, which a box has its own of.
  const folder = mkdtempSync("/var/tmp/tadpole-attacks-");
  const hostFile = join(folder, "secret.txt");
  writeFileSync(hostFile, HOST_SECRET, { mode: 0o666 });
  const abstractSocket = `tadpole-attacks-${process.pid}`;
  let count = 0;
  const answer = (socket: Socket) => {
    count++;
    socket.on("error", () => {}).on("finish", () => socket.destroy());
    socket.end(`HTTP/1.0 200 OK\r\n\r\n${HOST_SECRET}\n`);
  };
  const open = async (...where: [object | string] | [number, string]) => {
    const server = createServer(answer);
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(...(where as [number, string]));
      server.once("listening", resolve);
    });
    return server;
  };
  const first = await open(0, "0.0.0.0");
  const { port } = first.address() as { port: number };
  const own = networkInterfaces();
  const found = Object.values(own).flatMap((list) => list ?? []);
  const hasIpv6 = found.some(({ family }) => family === "IPv6");
  const servers = [first, await open(`\0${abstractSocket}`)];
  if (hasIpv6) servers.push(await open({ port, host: "::", ipv6Only: true }));
  const addresses = [...new Set(found.filter(({ scopeid }) => !scopeid).map(({ address }) => address))];
  return {
    port,
    addresses,
    abstractSocket,
    hostFile,
    pid: process.pid,
    connections: () => count,
    fileIsIntact: () => readFileSync(hostFile, "utf8") === HOST_SECRET,
    close: async () => {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
