/** Names of a check's tests: what fail-to-pass of a checked task holds. They say what is wanted, and no measurement. */
import type { StructuralAssertion } from "../../../core/task.ts";

/** Stands before the names of a check's tests. */
export const CHECK_SCOPE = "check";

export function structureName(assertion: StructuralAssertion): string {
  switch (assertion.kind) {
    case "defines":
      return `${assertion.file} defines ${assertion.symbol}`;
    case "lacks":
      return `${assertion.file} no longer defines ${assertion.symbol}`;
    case "max-lines":
      return `${assertion.symbol} of ${assertion.file} has at most ${assertion.lines} lines`;
    case "calls":
      return `${assertion.from} of ${assertion.file} calls ${assertion.symbol} at least ${assertion.atLeast} times`;
    case "max-copies":
      return `no ${assertion.tokens} tokens in a row stand twice in ${assertion.files.join(" and ")}`;
  }
}

export const importNames = {
  absent: (module: string) => `no source imports ${module}`,
  present: (module: string) => `a source imports ${module}`,
};

export const speedNames = (minSpeedup: number) => ({
  same: "the workload prints what it printed before",
  fast: `the workload is at least ${minSpeedup} times as fast as before`,
});
