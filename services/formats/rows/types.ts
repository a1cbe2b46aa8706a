/** Rows of a file, whatever its format: read one by one, in bounded memory. */
import type { ImportError } from "../types.ts";

/** Where a row stands. */
export interface RowPlace {
  readonly file: string;
  /** From 1, counting rows of the file, the bad ones too. */
  readonly row: number;
  /** From 1, of the line it begins in; null where the format has no lines. */
  readonly line: number | null;
}

export interface Row {
  readonly at: RowPlace;
  /** Its name where the file is an object of rows. */
  readonly key: string | null;
  readonly value: Readonly<Record<string, unknown>>;
}

/** A bad row is a result; the rows after it follow. After an error of kind `file` nothing follows. */
export type RowRead = { readonly row: Row } | { readonly error: ImportError };

/** Bytes of one row in its file. A row is held in memory whole, some four times as large while it is read. */
export const ROW_LIMIT_BYTES = 64 * 1024 * 1024;
