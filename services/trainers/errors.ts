/** Why a trainer refuses an update. None of these goes away by trying again. */

/** `batch`: no rows, or rows that this policy cannot have sampled. `diverged`: the update's numbers are not finite. */
export type TrainerErrorKind = "batch" | "diverged";

export class TrainerError extends Error {
  readonly kind: TrainerErrorKind;
  constructor(kind: TrainerErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TrainerError";
    this.kind = kind;
  }
}
