/** A real package, prepared: pinned source tree, its tests, their baseline. */
import type { StatusMap } from "../../core/task.ts";

/** One entry of `environments/catalogue.yaml`. */
export interface CatalogueEntry {
  readonly name: string;
  /** `npm:<name>@<version>`; the integrity stands in `environments/package-lock.json`. */
  readonly source: string;
  /**
   * `train`: pools are made from its train functions, `held-out` only its held-out functions are used for evaluation;
   * `unseen`: never trained on; `pretrain`: start weights are made from it, and it appears nowhere else.
   */
  readonly role: "train" | "unseen" | "pretrain";
  /** JavaScript files that tasks may change, relative to the package's root. */
  readonly sources: readonly string[];
  /** Test files, run one by one with node. */
  readonly tests: readonly string[];
  /** Files and folders left out of the tree, above all second copies of the sources (bundles, minified builds). */
  readonly omit?: readonly string[];
  readonly framework: "tape";
}

export interface PreparedEnvironment {
  /** `<name>@<version>-<12 hex of the hash of everything that determines the tree and its tests>`. */
  readonly key: string;
  readonly entry: CatalogueEntry;
  /** Host folder with the package's tree (no node_modules). Never written after preparation. */
  readonly root: string;
  /** Host folder mounted read-only at /repo/node_modules: the test tools and dependencies, without a copy of the package's own source. */
  readonly modules: string;
  /** Baseline: status of each test, by `<test file> > <test name> > <assertion name>#<ordinal>`. */
  readonly baseline: StatusMap;
  readonly baselineRuns: number;
  /** CPU seconds of the slowest baseline run; limits of later runs come from it. */
  readonly cpuSeconds: number;
  readonly unstable: readonly string[];
}
