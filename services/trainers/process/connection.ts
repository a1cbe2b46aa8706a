/** One connection to a trainer process: requests out, their events in, a line of JSON each. */
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import type { SessionFile, TrainerEvent, TrainerRequest } from "../protocol.ts";

/** As TrainerRequest without what every request carries. */
type Unsent<R> = R extends unknown ? Omit<R, "id" | "token"> : never;

export interface TrainerConnection {
  /** `on` is called with each event of this request, in their order. */
  send(request: Unsent<TrainerRequest>, on: (event: TrainerEvent) => void): void;
  /** Resolves once the other side is gone. */
  readonly closed: Promise<void>;
  close(): void;
  /** Closes once what was sent has left. */
  end(): void;
}

/** Null where nobody listens. */
export function connectTrainer({ socket, token }: SessionFile): Promise<TrainerConnection | null> {
  return new Promise((resolve) => {
    const stream = connect(socket);
    // Of a connection that is made already, `closed` tells.
    stream.on("error", () => resolve(null));
    stream.once("connect", () => resolve(speaking(stream, token)));
  });
}

function speaking(stream: Socket, token: string): TrainerConnection {
  const listeners = new Map<number, (event: TrainerEvent) => void>();
  let last = 0;
  const lines = createInterface({ input: stream });
  lines.on("line", (line) => {
    const event = parse(line);
    if (event !== null) listeners.get(event.id)?.(event);
  });
  // It passes on what the stream fails by, which nobody needs to hear twice.
  lines.on("error", () => undefined);
  return {
    send(request, on) {
      last += 1;
      listeners.set(last, on);
      stream.write(`${JSON.stringify({ id: last, token, ...request })}\n`);
    },
    closed: new Promise((resolve) => stream.once("close", () => resolve())),
    close: () => stream.destroy(),
    end: () => stream.end(),
  };
}

/** Null for a line that is no event: half a line of a process that was killed. */
function parse(line: string): TrainerEvent | null {
  try {
    const value = JSON.parse(line) as TrainerEvent;
    return typeof value?.id === "number" && typeof value.event === "string" ? value : null;
  } catch {
    return null;
  }
}
