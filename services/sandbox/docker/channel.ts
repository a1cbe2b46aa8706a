/** The command channel of a container: one attached stream for its life, one command on it at a time. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { Demultiplexer, type Ending, FrameReader, parseEnding, type StreamName } from "./frames.ts";
import { commandLine, type Kind } from "./program.ts";

/** The stream ended: the container is gone, or the daemon, or only the connection. */
export class ChannelLost extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ChannelLost";
  }
}

export interface Call {
  readonly kind: Kind;
  readonly words: readonly string[];
  readonly cpuSeconds?: number | null;
  /** In pieces; `inputBytes` long altogether. */
  readonly input?: Iterable<Uint8Array>;
  readonly inputBytes?: number;
  readonly onStdout: (chunk: Buffer) => void;
  readonly onStderr: (chunk: Buffer) => void;
}

export interface Running {
  /** Settles once process 1 has begun the command: from then on a signal ends it. Rejects as `ended` does. */
  readonly begun: Promise<void>;
  /** Rejects with ChannelLost. */
  readonly ended: Promise<Ending>;
  /** Input of a `talk`. */
  send(bytes: Uint8Array): void;
}

interface Waiting {
  readonly readers: Readonly<Record<StreamName, FrameReader>>;
  readonly endings: Set<StreamName>;
  readonly begin: () => void;
  readonly end: (ending: Ending) => void;
  readonly fail: (error: Error) => void;
}

const PART_BYTES = 64 * 1024;

export const newKey = (): string => randomBytes(16).toString("hex");

export class Channel {
  private readonly stream: Duplex;
  private key: string;
  private waiting: Waiting | undefined;
  private lost: ChannelLost | undefined;
  /** The last command had input: what it left unread stands before the next line. */
  private mayHaveRest = false;
  /** The last bytes outside of any frame: what a container that does not start has to say. */
  private stray = "";

  /** `stream` is what attaching gave; `key` what process 1 knows (or, at the start, is told). */
  constructor(stream: Duplex, key: string) {
    this.stream = stream;
    this.key = key;
    const demultiplexer = new Demultiplexer((name, chunk) => this.take(name, chunk));
    stream.on("data", (chunk: Buffer) => demultiplexer.push(chunk));
    stream.on("error", (error) => this.lose(error));
    stream.on("close", () => this.lose());
    stream.on("end", () => this.lose());
  }

  /** Undefined while the stream is open. */
  get loss(): ChannelLost | undefined {
    return this.lost;
  }

  /** Process 1's first line. */
  start(): void {
    this.stream.write(`${this.key}\n`);
  }

  /** Ends a line that a former holder may have left half sent. */
  restart(): void {
    this.stream.write("\n");
  }

  /** From its end on, only who knows the new key can command. */
  async rekey(key: string): Promise<void> {
    await this.begin({ kind: "key", words: [key], onStdout: () => {}, onStderr: () => {} }).ended;
    this.key = key;
  }

  get currentKey(): string {
    return this.key;
  }

  begin(call: Call): Running {
    const nonce = newKey();
    if (this.lost !== undefined) {
      const ended = Promise.reject(this.lost);
      const begun = ended as Promise<never>;
      begun.catch(() => {});
      return { begun, ended, send: () => {} };
    }
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<Ending>();
    begun.promise.catch(() => {});
    this.waiting = {
      readers: {
        stdout: new FrameReader(nonce, call.onStdout),
        // Nothing comes between two commands, so that one beginning is enough.
        stderr: new FrameReader(nonce, call.onStderr, { hasStart: false }),
      },
      endings: new Set(),
      begin: () => begun.resolve(),
      end: (ending) => ended.resolve(ending),
      fail: (error) => {
        begun.reject(error);
        ended.reject(error);
      },
    };
    const { kind, words, cpuSeconds = null, inputBytes = 0 } = call;
    const line = commandLine({ key: this.key, nonce, kind, cpuSeconds, inputBytes, words });
    this.stream.write(this.mayHaveRest ? `\n${line}` : line);
    this.mayHaveRest = kind === "feed" || kind === "talk";
    if (call.input !== undefined) void this.feed(call.input, this.waiting);
    return {
      begun: begun.promise,
      ended: ended.promise,
      send: (bytes) => void this.stream.write(bytes),
    };
  }

  /** Waits where the daemon reads more slowly than this writes; stops when the command has ended. */
  private async feed(input: Iterable<Uint8Array>, call: Waiting): Promise<void> {
    try {
      for (const piece of input) {
        // In parts, so that little is on its way when the command ends: process 1 has to pass over the rest byte by byte.
        for (let at = 0; at < piece.length; at += PART_BYTES) {
          if (this.lost !== undefined || this.waiting !== call) return;
          if (!this.stream.write(piece.subarray(at, at + PART_BYTES))) await takesMore(this.stream);
        }
      }
    } catch (error) {
      this.lose(error as Error);
    }
  }

  private take(name: StreamName, chunk: Buffer): void {
    const call = this.waiting;
    if (call === undefined) {
      this.stray = (this.stray + chunk.toString("utf8")).slice(-500);
      return;
    }
    const end = call.readers[name].push(chunk);
    if (call.readers.stdout.begun) call.begin();
    else this.stray = (this.stray + chunk.toString("utf8")).slice(-500);
    if (end === undefined) return;
    call.endings.add(name);
    const ending = parseEnding(end);
    if (ending === undefined) this.lose(new Error(`an end of a command that says ${JSON.stringify(end)}`));
    if (ending === undefined || call.endings.size < 2) return;
    this.waiting = undefined;
    call.end(ending);
  }

  private lose(error?: Error): void {
    if (this.lost !== undefined) return;
    const said = this.stray.trim();
    this.lost = new ChannelLost(
      `the command channel was lost${error ? `: ${error.message}` : ""}${said ? `; its last words: ${said}` : ""}`,
      { cause: error },
    );
    this.stream.destroy();
    this.waiting?.fail(this.lost);
    this.waiting = undefined;
  }

  close(): void {
    this.lose(new Error("closed"));
  }
}

/** Until the stream takes more, or is closed; nothing goes on waiting for the other. */
async function takesMore(stream: Duplex): Promise<void> {
  const settled = new AbortController();
  const { signal } = settled;
  try {
    await Promise.race([once(stream, "drain", { signal }), once(stream, "close", { signal })]);
  } finally {
    settled.abort();
  }
}
