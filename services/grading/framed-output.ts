/** Cuts the output of a warm server into files: what lies between the two lines that carry a file's nonce. */
import { OUTPUT_BYTES } from "./file-results.ts";

/** What the server says of a file's end. */
export interface Ending {
  readonly code: number;
  readonly cpuSeconds: number;
  /** The process ends by itself: something stayed behind that the next file would meet. */
  readonly retire: boolean;
  /** After a run's last file: the tree or /tmp is not as it was before the run. */
  readonly touched: boolean;
}

export class FramedOutput {
  private readonly limit: number;
  private state: "outside" | "inside" = "outside";
  private marker = "";
  /** Read and not yet searched to its end: a marker may have been cut. */
  private rest = Buffer.alloc(0);
  private kept: Buffer[] = [];
  private keptBytes = 0;
  private truncated = false;
  private resolve: ((ending: Ending) => void) | undefined;

  constructor(limit = OUTPUT_BYTES) {
    this.limit = limit;
  }

  /** The end of the file whose lines carry `nonce`. */
  expect(nonce: string): Promise<Ending> {
    this.state = "outside";
    this.marker = nonce;
    this.kept = [];
    this.keptBytes = 0;
    this.truncated = false;
    return new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  push(chunk: Uint8Array): void {
    this.rest = this.rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.rest, chunk]);
    if (this.state === "outside" && this.skipTo(`\n${this.marker} start\n`)) this.state = "inside";
    if (this.state === "inside") this.readInside();
  }

  /** What the file printed, so far or altogether. */
  take(): { readonly stdout: Uint8Array; readonly stdoutTruncated: boolean } {
    if (this.state === "inside") this.keep(this.rest);
    this.rest = Buffer.alloc(0);
    return { stdout: Buffer.concat(this.kept), stdoutTruncated: this.truncated };
  }

  private skipTo(line: string): boolean {
    const at = this.rest.indexOf(line);
    this.rest = this.rest.subarray(at >= 0 ? at + line.length : Math.max(0, this.rest.length - line.length));
    return at >= 0;
  }

  private readInside(): void {
    const start = `\n${this.marker} end `;
    const at = this.rest.indexOf(start);
    const certain = at >= 0 ? at : Math.max(0, this.rest.length - start.length);
    this.keep(this.rest.subarray(0, certain));
    this.rest = this.rest.subarray(certain);
    const end = at >= 0 ? this.rest.indexOf("\n", start.length) : -1;
    if (end < 0) return;
    const ending: Ending = JSON.parse(this.rest.toString("utf8", start.length, end));
    this.rest = this.rest.subarray(end + 1);
    this.state = "outside";
    this.resolve?.(ending);
  }

  private keep(bytes: Buffer): void {
    const room = this.limit - this.keptBytes;
    if (bytes.length > room) this.truncated = true;
    const part = bytes.subarray(0, Math.max(0, room));
    if (part.length > 0) this.kept.push(part);
    this.keptBytes += part.length;
  }
}
