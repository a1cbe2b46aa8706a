/** Tasks that a benchmark holds already. */
import { NO_COLON, SHALLOW, SHALLOW_TEST, STRICT, STRICT_GOLD } from "./seeds.ts";
import type { Faulty } from "./types.ts";

/** Texts of the benchmark, as a file of rows would hold them. */
export const BENCHMARK: readonly string[] = [
  `Servers! ${NO_COLON.text.body.toUpperCase()} What to do?`,
  `--- a/test/shallow.js\n+++ b/test/shallow.js\n${SHALLOW_TEST.replaceAll("\n", "\n+")}`,
  `diff --git a/index.js b/index.js\n${STRICT_GOLD.split("\n").slice(6).join("\n+")}`,
  "test('camelize a nested object', function (t) { t.plan(1); var res = camelize(obj); t.deepEqual(res, { feeFieFoe",
];

export const CONTAMINATED: readonly Faulty[] = [
  {
    name: "text-of-a-benchmark",
    wrong: "its body is an issue of a benchmark",
    gate: "contamination",
    task: NO_COLON,
  },
  {
    name: "test-of-a-benchmark",
    wrong: "its hidden test is one of a benchmark",
    gate: "contamination",
    task: SHALLOW,
  },
  {
    name: "gold-of-a-benchmark",
    wrong: "its solution is one of a benchmark",
    gate: "contamination",
    task: STRICT,
  },
  {
    name: "package-of-a-benchmark",
    wrong: "the package's own test, which it hides, is one of a benchmark",
    gate: "contamination",
    task: {
      environment: "camelize",
      base: [{ path: "index.js", from: "return x.toUpperCase();", to: "return x.toLowerCase();" }],
    },
  },
];
