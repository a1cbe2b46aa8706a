/** The one hash of JSON values: content keys and evidence are made of it. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/canonical.ts";

/** sha256 of the canonical JSON, hex. */
export const hashJson = (value: unknown): string =>
  createHash("sha256").update(canonicalJson(value)).digest("hex");
