/** What a diff is made of once it is read. Text is kept as latin1: one character per byte, so that no file's encoding matters. */

export interface HunkLine {
  readonly kind: "context" | "add" | "remove";
  /** With its line feed, if it has one. */
  readonly text: string;
}

export interface Hunk {
  /** Lines, from 1; 0 where the side is empty. */
  readonly oldStart: number;
  readonly newStart: number;
  readonly lines: readonly HunkLine[];
}

/** One side of a binary change, as `git diff --binary` writes it. */
export interface BinaryPart {
  readonly kind: "literal" | "delta";
  readonly bytes: Buffer;
}

export interface FilePatch {
  readonly kind: "modify" | "create" | "delete" | "rename" | "copy";
  /** Equal for modify, create and delete. */
  readonly oldPath: string;
  readonly newPath: string;
  /** Octal digits as git writes them (`100755`); null = not said. */
  readonly oldMode: string | null;
  readonly newMode: string | null;
  readonly hunks: readonly Hunk[];
  /**
   * null = a text change. `backward` is null where the diff cannot be reversed. `oldBlob` and `newBlob`: git's names (SHA-1, whole) of the
   * content on each side, null where the diff does not say them.
   */
  readonly binary: {
    readonly forward: BinaryPart;
    readonly backward: BinaryPart | null;
    readonly oldBlob: string | null;
    readonly newBlob: string | null;
  } | null;
}

export type DiffErrorKind = "syntax" | "path" | "unsupported" | "apply";

/** `syntax`: not a diff; `path`: leaves the tree; `unsupported`: refused by name; `apply`: does not fit the tree. */
export class DiffError extends Error {
  readonly kind: DiffErrorKind;
  /** Path in the tree; null where the text names none yet. */
  readonly path: string | null;
  /** From 1; null where no hunk is concerned. */
  readonly hunk: number | null;
  constructor(kind: DiffErrorKind, message: string, path: string | null = null, hunk: number | null = null) {
    const place = path === null ? "" : `${path}${hunk === null ? "" : `, hunk ${hunk}`}: `;
    super(`${place}${message}`);
    this.name = "DiffError";
    this.kind = kind;
    this.path = path;
    this.hunk = hunk;
  }
}

export type TreeFile =
  | { readonly kind: "file"; readonly bytes: Buffer; readonly executable: boolean }
  | { readonly kind: "symlink"; readonly target: string };
