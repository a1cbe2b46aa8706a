/** Public surface of the grading service. */
export { evidenceKey, evidenceOf, RULES_VERSION, taskHash } from "./evidence.ts";
export { type Deed, flagsOf, VERDICT_FLAGS, type VerdictFlag } from "./flags.ts";
export { createGrading, gradedTreeHash } from "./grade.ts";
export { limitsOf, TEST_LIMITS, verifierLimits } from "./limits.ts";
export { parseReport } from "./parsers/index.ts";
export { mergeReports, parseTap } from "./parsers/tap.ts";
export { protectionOf, testMounts } from "./protect.ts";
export { isProtected } from "./protected-paths.ts";
export { STANDALONE_GRADER } from "./standalone-path.ts";
export type { StandaloneTask } from "./standalone-task.ts";
export * from "./types.ts";
export { type Decision, decide, toleratedFailures } from "./verdict.ts";
export { placeFiles } from "./verifier-files.ts";
