/** Finds sources that Node itself carries: every sandbox has Node, and `process.binding("natives")` prints its modules. */
import { COPY_SHARE, nearestFiles, type SourceCopy } from "./copies.ts";
import type { Tree } from "./tree.ts";

/** Longer built-in modules are bundles of whole projects (undici, a TypeScript parser), too slow to compare with each entry. */
const MAX_LENGTH = 100_000;

/** Node's JavaScript modules by name. */
function builtinSources(): ReadonlyMap<string, string> {
  const { binding } = process as unknown as { binding(name: "natives"): Record<string, unknown> };
  const natives = binding.call(process, "natives");
  const texts = Object.getOwnPropertyNames(natives).map((name) => [name, natives[name]] as const);
  return new Map(texts.filter((pair): pair is [string, string] => typeof pair[1] === "string"));
}

/** Node's modules that hold a copy of a source. Takes seconds, so it is part of the proof of an environment, not of its preparation. */
export function findBuiltinCopies(sources: Tree): SourceCopy[] {
  const found: SourceCopy[] = [];
  // One module at a time: the shingles of all of Node would take hundreds of megabytes.
  for (const [name, text] of builtinSources())
    if (text.length <= MAX_LENGTH)
      found.push(...nearestFiles(sources, new Map([[`node:${name}`, Buffer.from(text)]])));
  return found.filter(({ share }) => share >= COPY_SHARE);
}
