/** A connection to the Docker daemon that tests can cut or hold up. */
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import type { Connection } from "../../services/sandbox/docker/client.ts";

/** A socket in front of the daemon's. */
export class DaemonLine {
  readonly path: string;
  /** Ends the connection once the daemon has answered a request for this path; its answer never arrives. */
  swallow: string | undefined;
  /** Nothing is passed on, and no connection ends. */
  hang = false;
  private readonly sockets = new Set<Socket>();
  private readonly connection: Connection;
  private server: Server | undefined;

  constructor(path: string, connection: Connection) {
    this.path = path;
    this.connection = connection;
  }

  async open(): Promise<void> {
    const { connection } = this;
    this.server = createServer((near) => {
      const far =
        "socketPath" in connection ? dial(connection.socketPath) : dial(connection.port, connection.host);
      for (const socket of [near, far]) {
        this.sockets.add(socket);
        socket.on("error", () => {}).on("close", () => this.sockets.delete(socket));
      }
      let asked = "";
      near.on("data", (chunk) => {
        if (asked.length < 1000) asked += chunk.toString("latin1");
        if (!this.hang) far.write(chunk);
      });
      far.on("data", (chunk) => {
        if (this.swallow === undefined || !asked.includes(this.swallow)) return void near.write(chunk);
        this.swallow = undefined;
        near.destroy();
      });
      near.on("close", () => far.destroy());
      far.on("close", () => near.destroy());
    });
    await new Promise<void>((resolve) => this.server!.listen(this.path, resolve));
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.server?.close();
  }
}
