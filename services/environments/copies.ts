/** Finds files that hold a copy of a package's sources, whole or nearly so. */
import type { Tree } from "./tree.ts";

/**
 * Tokens per shingle. Two files that share most runs of ten tokens share their text; idioms (`for (var i = 0; …`) and the usual heads of
 * modules are shorter or few.
 */
const SHINGLE = 10;

/**
 * Share of a source's shingles in one other file from which that file is called a copy. Copies and builds of the catalogue's packages
 * have 0.24 to 1, files that only share an author or an idiom at most 0.14.
 */
export const COPY_SHARE = 0.2;

/**
 * Words, numbers and signs without comments, semicolons or the kind of quotes. Escaped line ends count as line ends, so that the
 * sources inside a source map read as their originals.
 */
export function codeTokens(text: string): string[] {
  const bare = text
    .replace(/\\[nr]/g, "\n")
    .replace(/\\t/g, " ")
    .replace(/\\(["'])/g, "$1")
    .replace(/\/\*[\s\S]*?\*\/|(^|[^:\\])\/\/.*$/gm, "$1 ")
    .replace(/["'`]/g, "'");
  return bare.match(/[\p{L}_$][\p{L}\p{N}_$]*|\p{N}+|[^\s;]/gu) ?? [];
}

function shingles(tokens: readonly string[]): Set<string> {
  const found = new Set<string>();
  for (let at = 0; at + SHINGLE <= tokens.length; at++) found.add(tokens.slice(at, at + SHINGLE).join(" "));
  return found;
}

export interface SourceCopy {
  readonly source: string;
  readonly file: string;
  /** Share of the source's shingles that the file has, 0..1. */
  readonly share: number;
}

/** The file of `candidates` nearest to each source, highest share first; sources shorter than a shingle have none. */
export function nearestFiles(sources: Tree, candidates: Tree): SourceCopy[] {
  const prepared = [...candidates].map(
    ([file, content]) => [file, shingles(codeTokens(Buffer.from(content).toString("utf8")))] as const,
  );
  const nearest = [...sources].flatMap(([source, content]) => {
    const wanted = shingles(codeTokens(Buffer.from(content).toString("utf8")));
    if (wanted.size === 0) return [];
    let best: SourceCopy | undefined;
    for (const [file, has] of prepared) {
      let common = 0;
      for (const shingle of wanted) if (has.has(shingle)) common++;
      const share = common / wanted.size;
      if (best === undefined || share > best.share) best = { source, file, share };
    }
    return best === undefined ? [] : [best];
  });
  return nearest.sort((a, b) => b.share - a.share || (a.source < b.source ? -1 : 1));
}

/** Files of `candidates` that are called copies of a source. */
export function findSourceCopies(sources: Tree, candidates: Tree): SourceCopy[] {
  return nearestFiles(sources, candidates).filter(({ share }) => share >= COPY_SHARE);
}
