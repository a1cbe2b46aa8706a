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

function* shinglesOf(content: Uint8Array): Generator<string> {
  const tokens = codeTokens(Buffer.from(content).toString("utf8"));
  for (let at = 0; at + SHINGLE <= tokens.length; at++) yield tokens.slice(at, at + SHINGLE).join(" ");
}

export interface SourceCopy {
  readonly source: string;
  readonly file: string;
  /** Share of the source's shingles that the file has, 0..1. */
  readonly share: number;
}

/** Compares many files, one at a time, with a few sources: only the sources' shingles are kept. */
export class CopySearch {
  /** Sources that have a shingle. */
  private readonly owners = new Map<string, string[]>();
  private readonly sizes = new Map<string, number>();
  private readonly best = new Map<string, SourceCopy>();

  constructor(sources: Tree) {
    for (const [source, content] of sources) {
      const shingles = new Set(shinglesOf(content));
      if (shingles.size === 0) continue;
      this.sizes.set(source, shingles.size);
      for (const shingle of shingles) {
        const owners = this.owners.get(shingle);
        if (owners === undefined) this.owners.set(shingle, [source]);
        else owners.push(source);
      }
    }
  }

  /** Shares of the sources that the file has, those of a copy only. */
  compare(file: string, content: Uint8Array): SourceCopy[] {
    const common = new Map<string, number>();
    const counted = new Set<string>();
    for (const shingle of shinglesOf(content)) {
      const owners = this.owners.get(shingle);
      if (owners === undefined || counted.has(shingle)) continue;
      counted.add(shingle);
      for (const source of owners) common.set(source, (common.get(source) ?? 0) + 1);
    }
    const copies: SourceCopy[] = [];
    for (const [source, size] of this.sizes) {
      const found = { source, file, share: (common.get(source) ?? 0) / size };
      const best = this.best.get(source);
      if (best === undefined || found.share > best.share) this.best.set(source, found);
      if (found.share >= COPY_SHARE) copies.push(found);
    }
    return copies;
  }

  /** The file nearest to each source so far, highest share first; sources shorter than a shingle have none. */
  nearest(): SourceCopy[] {
    return [...this.best.values()].sort((a, b) => b.share - a.share || (a.source < b.source ? -1 : 1));
  }
}

/** The file of `candidates` nearest to each source, highest share first. */
export function nearestFiles(sources: Tree, candidates: Tree): SourceCopy[] {
  const search = new CopySearch(sources);
  for (const [file, content] of candidates) search.compare(file, content);
  return search.nearest();
}

/** Files of `candidates` that are called copies of a source. */
export function findSourceCopies(sources: Tree, candidates: Tree): SourceCopy[] {
  return nearestFiles(sources, candidates).filter(({ share }) => share >= COPY_SHARE);
}
