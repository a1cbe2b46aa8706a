/** What comes out of a container: Docker's interleaving of two streams taken apart, and in each the frames of commands. */

export type StreamName = "stdout" | "stderr";

const HEADER_BYTES = 8;

/** Takes apart what an attached container sends: pieces `[stream, 0, 0, 0, length as 4 bytes]` + content, cut anywhere. Holds no content. */
export class Demultiplexer {
  private readonly onContent: (stream: StreamName, chunk: Buffer) => void;
  private readonly header = Buffer.alloc(HEADER_BYTES);
  private headerBytes = 0;
  private left = 0;

  constructor(onContent: (stream: StreamName, chunk: Buffer) => void) {
    this.onContent = onContent;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.left > 0) {
        const end = Math.min(chunk.length, at + this.left);
        this.left -= end - at;
        this.onContent(this.header[0] === 2 ? "stderr" : "stdout", chunk.subarray(at, end));
        at = end;
        continue;
      }
      const copied = chunk.copy(this.header, this.headerBytes, at);
      this.headerBytes += copied;
      at += copied;
      if (this.headerBytes < HEADER_BYTES) return;
      this.headerBytes = 0;
      this.left = this.header.readUInt32BE(4);
    }
  }
}

/** How a command ended, as process 1 tells it. */
export interface Ending {
  /** 128 + n for signal n. */
  readonly code: number;
  readonly cpuSeconds: number;
  /** Processes the kernel killed for want of memory. */
  readonly killed: number;
  /** Forks the kernel refused. */
  readonly refused: number;
  /** A writable folder has neither block nor inode to spare. */
  readonly full: boolean;
}

/** Undefined for what is no end of a command. */
export function parseEnding(text: string): Ending | undefined {
  const [, code, cpu, killed, refused, free] = /^(\d+) (\d+) (\d+) (\d+) (\S+)$/.exec(text) ?? [];
  if (free === undefined) return undefined;
  return {
    code: Number(code),
    cpuSeconds: Number(cpu) / 1e9,
    killed: Number(killed),
    refused: Number(refused),
    full: free.split(",").some((folder) => /^0:|:0$/.test(folder)),
  };
}

/**
 * Finds the frame of one command in one stream: passes on what stands between its beginning `\1<nonce>\n` (where the stream tells none: from the
 * first byte on) and its end `\1<nonce> …\n`, as it comes; what comes before and after is dropped. At most a marker's length is held back, and never a line's end: who talks to a command
 * waits for whole lines.
 */
export class FrameReader {
  private readonly start: Buffer;
  private readonly end: Buffer;
  private readonly onContent: (chunk: Buffer) => void;
  private state: "before" | "inside" | "ending" | "done";
  private held = Buffer.alloc(0);

  constructor(nonce: string, onContent: (chunk: Buffer) => void, { hasStart = true } = {}) {
    this.state = hasStart ? "before" : "inside";
    this.start = Buffer.from(`\x01${nonce}\n`);
    this.end = Buffer.from(`\x01${nonce} `);
    this.onContent = onContent;
  }

  get begun(): boolean {
    return this.state !== "before";
  }

  /** Returns what the end says, once it is there. */
  push(chunk: Buffer): string | undefined {
    let data = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]);
    this.held = Buffer.alloc(0);
    if (this.state === "before") {
      const after = this.cut(data, this.start, () => {});
      if (after === undefined) return undefined;
      this.state = "inside";
      data = after;
    }
    if (this.state === "inside") {
      const after = this.cut(data, this.end, this.onContent);
      if (after === undefined) return undefined;
      this.state = "ending";
      data = after;
    }
    if (this.state === "ending") {
      const line = data.indexOf("\n");
      if (line < 0) this.hold(data);
      else {
        this.state = "done";
        return data.toString("latin1", 0, line);
      }
    }
    return undefined;
  }

  /** What follows the marker; undefined, and the beginning of a possible one held back, where there is none yet. */
  private cut(data: Buffer, marker: Buffer, pass: (chunk: Buffer) => void): Buffer | undefined {
    const at = data.indexOf(marker);
    const keep = at < 0 ? data.length - overlap(data, marker) : at;
    if (keep > 0) pass(data.subarray(0, keep));
    if (at >= 0) return data.subarray(at + marker.length);
    this.hold(data.subarray(keep));
    return undefined;
  }

  /** Copied: a slice would keep the whole chunk. */
  private hold(data: Buffer): void {
    this.held = Buffer.from(data);
  }
}

/** How many bytes at the end of `data` are a beginning of `marker`. */
function overlap(data: Buffer, marker: Buffer): number {
  for (let bytes = Math.min(marker.length - 1, data.length); bytes > 0; bytes--)
    if (data.subarray(data.length - bytes).equals(marker.subarray(0, bytes))) return bytes;
  return 0;
}
