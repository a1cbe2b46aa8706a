/** Public surface of the grading service. */
export { createGrading } from "./grade.ts";
export { limitsOf, TEST_LIMITS, verifierLimits } from "./limits.ts";
export { parseReport } from "./parsers/index.ts";
export { mergeReports, parseTap } from "./parsers/tap.ts";
export * from "./types.ts";
export { type Decision, decide } from "./verdict.ts";
