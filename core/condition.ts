/** Conditions that end a schedule: `pass@1(<set>) >= 0.7`, on the latest evaluation of that task set. */

const COMPARE = {
  ">": (a: number, b: number) => a > b,
  ">=": (a: number, b: number) => a >= b,
  "<": (a: number, b: number) => a < b,
  "<=": (a: number, b: number) => a <= b,
} as const;

export interface Condition {
  readonly metric: "pass@1";
  /** Name of a task set. */
  readonly set: string;
  readonly operator: keyof typeof COMPARE;
  /** 0..1. */
  readonly threshold: number;
}

export const CONDITION_SHAPE =
  "pass@1(<task set>), one of > >= < <=, and a number from 0 to 1, as in pass@1(heldout) >= 0.7";

const SHAPE = /^\s*pass@1\s*\(\s*([^\s()]+)\s*\)\s*(>=|<=|>|<)\s*(\d+(?:\.\d+)?)\s*$/;

/** Null when the text is no condition. */
export function parseCondition(text: string): Condition | null {
  const [, set, operator, number] = SHAPE.exec(text) ?? [];
  if (set === undefined || operator === undefined) return null;
  const threshold = Number(number);
  if (threshold > 1) return null;
  return { metric: "pass@1", set, operator: operator as Condition["operator"], threshold };
}

/** Parses back to the same condition. */
export function formatCondition({ metric, set, operator, threshold }: Condition): string {
  return `${metric}(${set}) ${operator} ${threshold}`;
}

export function conditionHolds({ operator, threshold }: Condition, rate: number): boolean {
  return COMPARE[operator](rate, threshold);
}
