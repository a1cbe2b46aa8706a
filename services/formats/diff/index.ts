/** Unified diffs: read, reversed, applied to whole files. */
export { applyDiff, pathsOf } from "./apply.ts";
export { parseDiff, reverseDiff } from "./parse.ts";
export { checkedPath } from "./paths.ts";
export * from "./types.ts";
