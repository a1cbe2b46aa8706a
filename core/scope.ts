/** Where in an experiment something happens, and the text that stands for it in keys. */

/** `experiment` names records; it never enters a random key. */
export interface Scope {
  readonly experiment: string;
  /** 0 = the untrained start. */
  readonly iteration: number;
  readonly try: number;
}

/** Prefix of every record of one try of one iteration: `<experiment>/it/<i>/try/<k>`. */
export function scopeKey(scope: Scope): string {
  return `${scope.experiment}/it/${scope.iteration}/try/${scope.try}`;
}
