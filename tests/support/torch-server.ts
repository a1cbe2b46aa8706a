/** A torch trainer's process, and connections to it. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { type SessionFile, TOKEN_VARIABLE, type TrainerEvent } from "../../services/trainers/protocol.ts";
import { gpuPathEnv, gpuPathPython } from "./gpu-path.ts";

export interface TorchServer {
  readonly folder: string;
  readonly session: SessionFile;
  running(): boolean;
  /** Processes that it has started and that are not dead; once it has ended, of those that ran when this was last asked. */
  descendants(): readonly number[];
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Its exit code; null where a signal ended it. */
  readonly ended: Promise<number | null>;
  end(): Promise<void>;
}

/** One thread: two would wait for each other on a busy machine. Small passes, so that an update has many. */
const FLAGS = [
  "--dtype",
  "float32",
  "--pack-tokens",
  "80",
  "--gradient-checkpointing",
  "off",
  "--cpu",
  "--threads",
  "1",
];

export async function startTorch(folder: string): Promise<TorchServer> {
  const child = spawn(gpuPathPython, ["-m", "tadpole_torch", "serve", "--session", folder, ...FLAGS], {
    cwd: folder,
    env: { ...gpuPathEnv, [TOKEN_VARIABLE]: randomBytes(16).toString("hex") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (bytes: Buffer) => {
      log += bytes;
    });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const file = join(folder, "session.json");
  while (!existsSync(file)) {
    if (child.exitCode !== null) throw new Error(`exit code ${child.exitCode}: ${log}`);
    await sleep(20);
  }
  const pid = child.pid!;
  const running = () => child.exitCode === null && child.signalCode === null;
  let known: number[] = [];
  const descendants = () => {
    if (running()) known = childrenOf(pid);
    return known.filter(isAlive);
  };
  return {
    folder,
    session: JSON.parse(readFileSync(file, "utf8")) as SessionFile,
    running,
    descendants,
    ended,
    async kill(signal) {
      descendants();
      child.kill(signal);
      await ended;
    },
    async end() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return text === "" ? [] : text.split(" ").map(Number);
}

/** A zombie is none: it is dead, and nobody has asked how it ended. */
function isAlive(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)![0] !== "Z";
  } catch {
    return false;
  }
}

/** A connection that keeps each request's events. */
export async function connectTo({ socket, token }: SessionFile) {
  const stream = connect(socket);
  await new Promise<void>((resolve, reject) => {
    stream.once("connect", resolve);
    stream.once("error", reject);
  });
  stream.on("error", () => {});
  let number = 0;
  const asked = new Map<number, { events: TrainerEvent[]; end: (events: TrainerEvent[]) => void }>();
  const waiting: { name: string; resolve: () => void }[] = [];
  const lines = createInterface({ input: stream });
  // It passes on what the stream fails by.
  lines.on("error", () => {});
  lines.on("line", (line) => {
    const event = JSON.parse(line) as TrainerEvent;
    const request = asked.get(event.id);
    request?.events.push(event);
    if (event.event !== "progress") request?.end(request.events);
    for (const { name, resolve } of waiting) if (name === event.event) resolve();
  });
  const send = (request: object) => {
    number += 1;
    stream.write(`${JSON.stringify({ id: number, token, ...request })}\n`);
    return number;
  };
  return {
    send,
    /** All events of a request, up to the one that ends it. */
    ask: (request: object) =>
      new Promise<TrainerEvent[]>((resolve) => {
        asked.set(send(request), { events: [], end: resolve });
      }),
    /** The next event of this name, of whichever request. */
    next: (name: TrainerEvent["event"]) =>
      new Promise<void>((resolve) => {
        waiting.push({ name, resolve });
      }),
    close: () => stream.destroy(),
  };
}
