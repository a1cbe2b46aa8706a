/** How deep a body is nested. Whatever reads it afterwards goes down by calls, which a body of brackets alone would exhaust. */
import { ApiError } from "./problems.ts";

/** Settings have five. */
const MOST_LEVELS = 32;

/** Throws ApiError `request` for lists and objects inside of more than `MOST_LEVELS` of them. */
export function refuseDeep(body: unknown): void {
  let level: readonly object[] = isNested(body) ? [body] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MOST_LEVELS)
      throw new ApiError("request", `values nested too deep: expected at most ${MOST_LEVELS} levels`, "body");
    level = level.flatMap((value) => Object.values(value).filter(isNested));
  }
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
