/** Why an update was not made. */

/**
 * `batch`: no rows, or rows that this policy cannot have sampled. `model`: a model folder or checkpoint that is none, or not whole.
 * `diverged`: the update's numbers are not finite. `memory`: the device's memory does not hold the update. `disk`: no space for the
 * checkpoint. `collective`: devices lost each other. `stalled`: no progress for much longer than a step takes. `untrained`: the trainer
 * ended in order and left no checkpoint. `dead`: its process ended otherwise.
 */
export type TrainerErrorKind =
  | "batch"
  | "model"
  | "diverged"
  | "memory"
  | "disk"
  | "collective"
  | "stalled"
  | "untrained"
  | "dead";

export class TrainerError extends Error {
  readonly kind: TrainerErrorKind;
  constructor(kind: TrainerErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TrainerError";
    this.kind = kind;
  }
}
