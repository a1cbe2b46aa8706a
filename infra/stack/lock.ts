/** At most one supervisor per data folder: an abstract socket, which the kernel frees however its holder ends. */
import { createHash } from "node:crypto";
import { createServer, type Server } from "node:net";

export interface StackLock {
  release(): Promise<void>;
}

/** Null when somebody else holds it. */
export function takeLock(folder: string): Promise<StackLock | null> {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  const server: Server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE" ? resolve(null) : reject(error),
    );
    server.listen(`\0tadpole-${process.getuid?.() ?? 0}-${name}`, () => {
      server.unref();
      resolve({ release: () => new Promise((done) => server.close(() => done())) });
    });
  });
}
