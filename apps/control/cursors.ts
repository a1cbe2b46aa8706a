/** Cursors of lists. A cursor is opaque: it holds the last key, bound to the list and the filters it was given for. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/canonical.ts";

/** `cursor`: not one of this list with these filters; `limit`: out of range; `filter`: a value that cannot be. */
export type PageErrorKind = "cursor" | "limit" | "filter";

/** `field` is the parameter at fault. */
export class PageError extends Error {
  readonly kind: PageErrorKind;
  readonly field: string;
  constructor(kind: PageErrorKind, message: string, field: string = kind) {
    super(message);
    this.name = "PageError";
    this.kind = kind;
    this.field = field;
  }
}

const BINDING_BYTES = 9;

function binding(list: string, filters: object, key: string): Buffer {
  const text = `${list}\n${canonicalJson(filters)}\n${key}`;
  return createHash("sha256").update(text).digest().subarray(0, BINDING_BYTES);
}

export function encodeCursor(list: string, filters: object, key: string): string {
  return Buffer.concat([binding(list, filters, key), Buffer.from(key)]).toString("base64url");
}

/** The key a cursor stands for. Throws PageError `cursor` for anything `encodeCursor` did not make of the same list and filters. */
export function decodeCursor(list: string, filters: object, cursor: string): string {
  const bytes = Buffer.from(cursor, "base64url");
  const key = bytes.subarray(BINDING_BYTES).toString();
  if (key === "" || encodeCursor(list, filters, key) !== cursor)
    throw new PageError(
      "cursor",
      "cursor: expected the `next` of a page of the same list with the same filters",
    );
  return key;
}
