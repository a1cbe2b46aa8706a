/** One JSON object per line, read as a stream of bytes. */
import { decodeRow, tooLarge } from "./decode.ts";
import { ROW_LIMIT_BYTES, type RowRead } from "./types.ts";

const LINE_FEED = 0x0a;
const BLANK = /^[\s]*$/;

/** Rows of the lines that `chunks` make up. Blank lines are no rows; lines above the limit are one error each, and never held. */
export async function* readJsonl(
  file: string,
  chunks: AsyncIterable<Uint8Array>,
  limit: number = ROW_LIMIT_BYTES,
): AsyncGenerator<RowRead> {
  let row = 0;
  let line = 1;
  const current = new LineBuffer(limit);
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      current.add(chunk.subarray(start, end));
      start = end + 1;
      if (!current.isBlank()) yield current.take({ file, row: ++row, line }, false);
      current.clear();
      line++;
    }
    current.add(chunk.subarray(start));
  }
  if (!current.isBlank()) yield current.take({ file, row: ++row, line }, true);
}

/** What a line has so far; nothing of it once it is above the limit. */
class LineBuffer {
  private readonly limit: number;
  private parts: Uint8Array[] = [];
  private bytes = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  add(part: Uint8Array): void {
    this.bytes += part.length;
    if (this.bytes > this.limit) this.parts = [];
    // A stream may use its buffer again.
    else if (part.length > 0) this.parts.push(Uint8Array.prototype.slice.call(part));
  }

  isBlank(): boolean {
    if (this.bytes > this.limit) return false;
    return this.parts.every((part) =>
      part.every((byte) => byte <= 0x20 && BLANK.test(String.fromCharCode(byte))),
    );
  }

  take(at: Parameters<typeof decodeRow>[1], cut: boolean): RowRead {
    if (this.bytes > this.limit) return tooLarge(at, this.limit);
    return decodeRow(Buffer.concat(this.parts), at, null, cut);
  }

  clear(): void {
    this.parts = [];
    this.bytes = 0;
  }
}
