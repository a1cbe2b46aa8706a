/** Rows of a Parquet file, one row group at a time. */
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type Compressors,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
} from "hyparquet";
import { ImportError } from "../types.ts";
import type { RowRead } from "./types.ts";

/** Bytes of one row group as they are uncompressed; a group is held in memory whole. Writers make them of some 128 MiB. */
export const GROUP_LIMIT_BYTES = 512 * 1024 * 1024;

/** Snappy is hyparquet's own. */
const compressors: Compressors = {
  GZIP: (input) => gunzipSync(input),
  BROTLI: (input) => brotliDecompressSync(input),
  ZSTD: (input) => zstdDecompressSync(input),
};

/** Text whose bytes are no UTF-8; a value of its own, so that only its row is refused. */
class InvalidText {
  readonly bytes: number;
  constructor(bytes: number) {
    this.bytes = bytes;
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const parsers = {
  stringFromBytes(bytes: Uint8Array): string | InvalidText {
    try {
      return decoder.decode(bytes);
    } catch {
      return new InvalidText(bytes.length);
    }
  },
};

export async function* readParquet(file: string, limit: number = GROUP_LIMIT_BYTES): AsyncGenerator<RowRead> {
  let buffer: AsyncBuffer;
  let metadata: FileMetaData;
  try {
    buffer = await asyncBufferFromFile(file);
    metadata = await parquetMetadataAsync(buffer);
  } catch (error) {
    yield { error: new ImportError("file", { file }, "a Parquet file", (error as Error).message) };
    return;
  }
  let start = 0;
  for (const group of metadata.row_groups) {
    const [rowStart, rowEnd] = [start, start + Number(group.num_rows)];
    start = rowEnd;
    const at = { file, row: rowStart + 1 };
    if (group.total_byte_size > limit) {
      const found = `${group.total_byte_size} in the group of rows ${rowStart + 1} to ${rowEnd}, which are left out`;
      yield { error: new ImportError("size", at, `at most ${limit} bytes in a row group`, found) };
      continue;
    }
    let rows: Record<string, unknown>[];
    try {
      rows = await parquetReadObjects({ file: buffer, metadata, rowStart, rowEnd, compressors, parsers });
    } catch (error) {
      const found = `rows ${rowStart + 1} to ${rowEnd}, left out: ${(error as Error).message}`;
      yield { error: new ImportError("row", at, "a readable row group", found) };
      continue;
    }
    for (const [index, value] of rows.entries()) yield readRow(file, rowStart + index + 1, value);
  }
}

function readRow(file: string, row: number, value: Record<string, unknown>): RowRead {
  const at = { file, row, line: null };
  for (const [field, found] of Object.entries(value)) {
    const invalid = Array.isArray(found) ? found.find(isInvalid) : found;
    if (isInvalid(invalid))
      return {
        error: new ImportError("row", { ...at, field }, "UTF-8", `${invalid.bytes} bytes that are none`),
      };
  }
  return { row: { at, key: null, value: plain(value) as Record<string, unknown> } };
}

const isInvalid = (value: unknown): value is InvalidText => value instanceof InvalidText;

/** As JSON would have it: whole numbers of 64 bits are numbers where they are exact, null fields of a struct stay. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !isInvalid(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
  return value;
}
