/** Rows of a file or of all files of a folder, in the order of their names. */
import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { ImportError } from "../types.ts";
import { readJson } from "./json.ts";
import { readJsonl } from "./jsonl.ts";
import { readParquet } from "./parquet.ts";
import type { RowRead } from "./types.ts";

export { describe } from "./decode.ts";
export { GROUP_LIMIT_BYTES } from "./parquet.ts";
export * from "./types.ts";

const EXTENSIONS = /\.(jsonl|ndjson|json|parquet)$/i;

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** Every row under `path`. What cannot be read at all is one error of kind `file`; other files of a folder follow. */
export async function* readRows(path: string): AsyncGenerator<RowRead> {
  let files: string[];
  try {
    files = (await stat(path)).isDirectory()
      ? (await readdir(path, { recursive: true }))
          .filter((name) => EXTENSIONS.test(name))
          .sort()
          .map((name) => join(path, name))
      : [path];
  } catch (error) {
    return yield { error: unreadable(path, error) };
  }
  if (files.length === 0)
    yield {
      error: new ImportError("file", { file: path }, "files named .jsonl, .json or .parquet in it", "none"),
    };
  for (const file of files) yield* readFile(file);
}

async function* readFile(file: string): AsyncGenerator<RowRead> {
  let head: Buffer;
  try {
    head = await beginningOf(file);
  } catch (error) {
    return yield { error: error instanceof ImportError ? error : unreadable(file, error) };
  }
  if ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff))
    return yield { error: new ImportError("file", { file }, "UTF-8", "UTF-16, by its byte order mark") };
  if (head.toString("latin1") === "PAR1") return yield* readParquet(file);
  const extension = EXTENSIONS.exec(basename(file))?.[1]?.toLowerCase();
  if (extension === undefined)
    return yield {
      error: new ImportError(
        "file",
        { file },
        "a name that ends in .jsonl, .json or .parquet",
        basename(file),
      ),
    };
  if (extension === "parquet") return yield* readParquet(file);
  const start = BYTE_ORDER_MARK.every((byte, index) => head[index] === byte) ? BYTE_ORDER_MARK.length : 0;
  const chunks = createReadStream(file, { start });
  try {
    yield* extension === "json" ? readJson(file, chunks) : readJsonl(file, chunks);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    yield { error: unreadable(file, error) };
  } finally {
    chunks.destroy();
  }
}

/** Throws ImportError `file` for what is no file: to open a named pipe waits for one that writes. */
async function beginningOf(file: string): Promise<Buffer> {
  const info = await stat(file);
  if (!info.isFile())
    throw new ImportError("file", { file }, "a file", info.isDirectory() ? "a folder" : "something else");
  const handle = await open(file);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

const isSystemError = (error: unknown): boolean => typeof (error as { code?: unknown }).code === "string";

function unreadable(file: string, error: unknown): ImportError {
  const { code, message } = error as NodeJS.ErrnoException;
  const found = code === "ENOENT" ? "nothing there" : message;
  return new ImportError("file", { file }, "a file or folder that can be read", found, { cause: error });
}
