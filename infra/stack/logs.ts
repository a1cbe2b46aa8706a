/** Log files of the stack, rotated by size; a disk that is full loses lines but stops no process. */
import { basename, dirname } from "node:path";
import { createStream, type RotatingFileStream } from "rotating-file-stream";
import { logFile } from "./paths.ts";

/** Kept at hand so that a failure can show why. */
const keptLines = 20;

/** The current file and three before it. */
function rotating(file: string): RotatingFileStream {
  const stream = createStream(basename(file), { path: dirname(file), size: "10M", rotate: 3 });
  stream.on("error", () => {});
  stream.on("warning", () => {});
  return stream;
}

/** Where one process's output goes. */
export class ProcessLog {
  readonly file: string;
  readonly #stream: RotatingFileStream;
  #last: string[] = [];
  #rest = "";

  constructor(folder: string, process: string) {
    this.file = logFile(folder, process);
    this.#stream = rotating(this.file);
  }

  write(bytes: Uint8Array | string): void {
    const text = typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8");
    this.#stream.write(text);
    const lines = (this.#rest + text).split("\n");
    this.#rest = (lines.pop() ?? "").slice(-2000);
    this.#last = [...this.#last, ...lines.filter((line) => line.trim())].slice(-keptLines);
  }

  lastLines(): readonly string[] {
    return [...this.#last, this.#rest].filter((line) => line.trim()).slice(-keptLines);
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#stream.end(() => resolve()));
  }
}
