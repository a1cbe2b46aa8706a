/** Every bench by its name; what it needs is loaded when it runs. */
import type { BenchModule } from "./bench.ts";

export interface BenchEntry {
  readonly name: string;
  readonly about: string;
  /** Its goals are promises: one that is missed fails also without --strict. */
  readonly strict?: true;
  readonly load: () => Promise<BenchModule>;
}

export const BENCHES: readonly BenchEntry[] = [
  {
    name: "temporal",
    about: "rollouts of 1 s each as workflows against the same calls in a loop",
    load: () => import("./temporal.ts"),
  },
  {
    name: "scale",
    about: "12,000 rollouts through the real workflows against 1,000: cost, memory, histories, record",
    strict: true,
    load: () => import("./scale.ts"),
  },
  {
    name: "sandbox",
    about: "commands, rollouts and memory of sandboxes against bare bubblewrap, bare Docker and peers",
    load: () => import("./sandbox.ts"),
  },
  {
    name: "probing",
    about:
      "rollouts per admitted task of probes that may stop early against complete ones; what their labels are worth",
    strict: true,
    load: () => import("./probing.ts"),
  },
  {
    name: "gates",
    about: "faulty tasks against the gate that has to stop each, and false alarms on good ones",
    strict: true,
    load: () => import("./gates.ts"),
  },
  {
    name: "grading",
    about: "warm against cold grading of mutated trees, and whether they agree",
    load: () => import("./grading.ts"),
  },
  {
    name: "batch",
    about: "writing and reading a batch file against raw files of the same arrays",
    load: () => import("./batch.ts"),
  },
  {
    name: "loss",
    about: "tokens per second of the loss kernel against a plain loop",
    load: () => import("./loss.ts"),
  },
  {
    name: "memory",
    about: "memory of each process of the stack after an experiment, against its limit",
    load: () => import("./memory.ts"),
  },
];
