/** Makes an importer of a function that reads one row. */
import { IMAGE_HINT, isImageReference } from "../../../core/images.ts";
import { type Row, readRows } from "../rows/index.ts";
import {
  ImportError,
  type ImportedTask,
  type Importer,
  type ImportFormat,
  type ImportOptions,
} from "../types.ts";
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
        yield "error" in read ? read : resultOf(() => checked(read.row, readTask(read.row, options)));
        if (++rows === options.limit) return;
      }
    },
  };
}

/** Ids stand in file names, tables and addresses; none that publishers use is as long. */
const ID = /^[^\p{Cc}\p{Cs}]{1,300}$/u;

/** Throws ImportError `field`: the id and the image's name go where not every text may. */
function checked(row: Row, task: ImportedTask): ImportedTask {
  const { id } = task.origin;
  if (!ID.test(id))
    throw new ImportError(
      "field",
      { ...row.at, field: "instance_id" },
      "at most 300 characters, none of them a control character or half a character",
      JSON.stringify(id.slice(0, 80)),
    );
  const { image } = task.environment;
  if (image.kind === "image" && !isImageReference(image.reference))
    throw new ImportError(
      "field",
      { ...row.at, field: "image" },
      IMAGE_HINT,
      JSON.stringify(image.reference.slice(0, 200)),
    );
  return task;
}
