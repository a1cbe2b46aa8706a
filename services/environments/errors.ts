/** Why a package does not become an environment. */

/**
 * `unknown`: no such entry; `no-source`: a source names nothing that is there; `catalogue`: the catalogue itself is wrong; `install`: its files cannot be brought here or are not what
 * the lockfile says; `tests-fail`: its tests fail untouched; `unstable`: too many of them change from run to run; `source-copy`:
 * a second copy of its source would be in the sandbox; `history`: its sandbox would hold more of a
 * repository's history than one commit; `in-use`: an experiment's record names it; `missing`: nothing is prepared under that key; `damaged`: what is prepared there
 * is no longer what was prepared.
 */
export type EnvironmentErrorKind =
  | "unknown"
  | "no-source"
  | "catalogue"
  | "install"
  | "tests-fail"
  | "unstable"
  | "source-copy"
  | "history"
  | "in-use"
  | "missing"
  | "damaged";

export class EnvironmentError extends Error {
  readonly kind: EnvironmentErrorKind;
  constructor(kind: EnvironmentErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EnvironmentError";
    this.kind = kind;
  }
}
