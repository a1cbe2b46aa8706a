/** How long a learnability label holds: it says how often one policy solves one statement, and is void once anything that it rests on changes. */
import type { ExperimentSettings } from "./experiment.ts";

/** What a label is of. Its key, `probes.label_key`, is the hash of this. */
export interface LabelBasis {
  readonly task: string;
  /** Hash of the statement. */
  readonly statement: string;
  /** Id of the policy. */
  readonly policy: string;
  readonly harness: string;
  readonly limits: ExperimentSettings["rollout"]["limits"];
  readonly sampling: ExperimentSettings["rollout"]["sampling"];
}

export type LabelStanding =
  | "valid"
  | "void: another policy"
  | "void: another statement, harness, limits or sampling";

/** Whether a label that was made with `policy` still holds for what is there now. */
export function labelStanding(
  label: { readonly key: string; readonly policy: string },
  now: LabelBasis,
  keyOf: (basis: LabelBasis) => string,
): LabelStanding {
  if (label.key !== keyOf({ ...now, policy: label.policy }))
    return "void: another statement, harness, limits or sampling";
  return label.policy === now.policy ? "valid" : "void: another policy";
}
