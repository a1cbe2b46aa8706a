/** An environment with some of its test files alone: enough for what a test is about, and quicker. */
import type { PreparedEnvironment } from "../../services/environments/index.ts";

/** Of environments whose commands run one test file each. */
export function narrowed(whole: PreparedEnvironment, tests: readonly string[]): PreparedEnvironment {
  const kept = Object.entries(whole.baseline).filter(([name]) => tests.includes(name.split(" > ")[0]!));
  return {
    ...whole,
    key: `${whole.key}-narrowed`,
    entry: { ...whole.entry, tests },
    commands: whole.commands.filter(({ scope }) => tests.includes(scope)),
    baseline: Object.fromEntries(kept),
  };
}
