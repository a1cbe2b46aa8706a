/** Makes an importer of a function that reads one row. */
import { type Row, readRows } from "../rows/index.ts";
import type { ImportedTask, Importer, ImportFormat, ImportOptions } from "../types.ts";
import { resultOf } from "./fields.ts";

/** `readTask` throws ImportError for a row that it refuses. */
export function rowImporter(
  name: ImportFormat,
  readTask: (row: Row, options: ImportOptions) => ImportedTask,
): Importer {
  return {
    name,
    async *read(path, options) {
      let rows = 0;
      for await (const read of readRows(path)) {
        options.signal?.throwIfAborted();
        yield "error" in read ? read : resultOf(() => readTask(read.row, options));
        if (++rows === options.limit) return;
      }
    },
  };
}
