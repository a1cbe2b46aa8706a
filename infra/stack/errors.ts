/** What can be wrong with a stack before or while it runs. */

/**
 * `settings`, `port`, `data-folder`, `version`, `disk` and `unreachable` are for the user to mend and nothing was changed;
 * `missing` is a program this machine lacks; `failed` is a process that does not stay up; `not-running` needs `tadpole up`.
 */
export type StackErrorKind =
  | "settings"
  | "port"
  | "data-folder"
  | "version"
  | "disk"
  | "unreachable"
  | "missing"
  | "failed"
  | "not-running";

export class StackError extends Error {
  readonly kind: StackErrorKind;
  constructor(kind: StackErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StackError";
    this.kind = kind;
  }
}
