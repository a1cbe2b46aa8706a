/** What is kept of what a command prints, and how its end is read. */
import { constants } from "node:os";
import type { ExecResult } from "./runtime.ts";

/** Keeps the first `limit` bytes; the rest is read and dropped. */
export class Collector {
  private readonly limit: number;
  private readonly chunks: Buffer[] = [];
  private kept = 0;
  truncated = false;

  constructor(limit: number) {
    this.limit = limit;
  }

  push(chunk: Buffer): void {
    const room = this.limit - this.kept;
    if (chunk.length > room) this.truncated = true;
    if (room <= 0) return;
    // Copied: a slice would keep the stream's whole buffer alive.
    const part = Buffer.from(chunk.subarray(0, room));
    this.chunks.push(part);
    this.kept += part.length;
  }

  bytes(): Buffer {
    return this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
  }
}

export const KILLED = 128 + constants.signals.SIGKILL;

/** 128 + n stands for signal n, as in every shell. */
export function decode(code: number): Pick<ExecResult, "exitCode" | "signal"> {
  const signal = code > 128 ? signalNames.get(code - 128) : undefined;
  return signal === undefined ? { exitCode: code, signal: null } : { exitCode: null, signal };
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));
