/** Cuts the output of a warm server into files: what lies between the two lines that carry a file's nonce. */
import { OUTPUT_BYTES } from "./command-results.ts";

/** What the server says of a file's end. */
export interface Ending {
  readonly code: number;
  readonly cpuSeconds: number;
  /** The process ends by itself: something stayed behind that the next file would meet. */
  readonly retire: boolean;
  /** After a run's last file: the tree or /tmp is not as it was before the run. */
  readonly touched: boolean;
}

export interface Printed {
  readonly stdout: Uint8Array;
  readonly stdoutTruncated: boolean;
}

export class FramedOutput {
  private readonly startLine: string;
  private readonly endLine: string;
  private readonly onEnd: (ending: Ending, printed: Printed) => void;
  private readonly limit: number;
  private inside = false;
  /** Read and not yet searched to its end: a line that marks a file may have been cut. */
  private rest = Buffer.alloc(0);
  private kept: Buffer[] = [];
  private keptBytes = 0;
  private truncated = false;

  constructor(nonce: string, onEnd: (ending: Ending, printed: Printed) => void, limit = OUTPUT_BYTES) {
    this.startLine = `\n${nonce} start\n`;
    this.endLine = `\n${nonce} end `;
    this.onEnd = onEnd;
    this.limit = limit;
  }

  push(chunk: Uint8Array): void {
    this.rest = this.rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.rest, chunk]);
    while (this.inside ? this.readFile() : this.skipToFile());
  }

  /** What the current file has printed so far. */
  printed(): Printed {
    if (this.inside) this.keep(this.rest);
    this.rest = Buffer.alloc(0);
    return { stdout: Buffer.concat(this.kept), stdoutTruncated: this.truncated };
  }

  private skipToFile(): boolean {
    const at = this.rest.indexOf(this.startLine);
    this.inside = at >= 0;
    const skipped = at >= 0 ? at + this.startLine.length : this.rest.length - this.startLine.length;
    this.rest = this.rest.subarray(Math.max(0, skipped));
    if (this.inside) {
      this.kept = [];
      this.keptBytes = 0;
      this.truncated = false;
    }
    return this.inside;
  }

  private readFile(): boolean {
    const at = this.rest.indexOf(this.endLine);
    const certain = at >= 0 ? at : Math.max(0, this.rest.length - this.endLine.length);
    this.keep(this.rest.subarray(0, certain));
    this.rest = this.rest.subarray(certain);
    const end = at >= 0 ? this.rest.indexOf("\n", this.endLine.length) : -1;
    if (end < 0) return false;
    const ending: Ending = JSON.parse(this.rest.toString("utf8", this.endLine.length, end));
    this.rest = this.rest.subarray(end + 1);
    this.inside = false;
    this.onEnd(ending, { stdout: Buffer.concat(this.kept), stdoutTruncated: this.truncated });
    return true;
  }

  private keep(bytes: Buffer): void {
    const room = this.limit - this.keptBytes;
    if (bytes.length > room) this.truncated = true;
    const part = bytes.subarray(0, Math.max(0, room));
    if (part.length > 0) this.kept.push(part);
    this.keptBytes += part.length;
  }
}
