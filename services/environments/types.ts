/** A real project, prepared: pinned source tree, its tests, their baseline. */
import type { StatusMap, TestCommand } from "../../core/task.ts";
import type { SandboxImage, SandboxLimits, SandboxSpec } from "../sandbox/runtime.ts";

/**
 * How an environment's tests are run and their report read. `tape` runs each test file by itself and can be graded warm; the others
 * run all tests by one command. `command` = the entry's own `test`.
 */
export const FRAMEWORKS = [
  "tape",
  "node-test",
  "mocha",
  "jest",
  "vitest",
  "pytest",
  "unittest",
  "go-test",
  "command",
] as const;
export type Framework = (typeof FRAMEWORKS)[number];

export type LimitOverrides = { readonly [limit in keyof SandboxLimits]?: number | undefined };

/** One entry of `environments/catalogue.yaml`, or of what `tadpole env add` was given. */
export interface CatalogueEntry {
  readonly name: string;
  /** `npm:<name>@<version>`, `pypi:<name>==<version>`, `go:<module>@v<version>`, `git:<path or URL>@<ref>` or `docker:<image>`. */
  readonly source: string;
  /**
   * `train`: pools are made from its train functions, `held-out` only its held-out functions are used for evaluation;
   * `unseen`: never trained on; `pretrain`: start weights are made from it, and it appears nowhere else.
   */
  readonly role: "train" | "unseen" | "pretrain";
  /** Files that tasks may change, relative to the tree's root. */
  readonly sources: readonly string[];
  /** Test files or folders; protected while grading. */
  readonly tests: readonly string[];
  /** Files and folders left out of the tree, above all second copies of the sources (bundles, minified builds). */
  readonly omit?: readonly string[];
  readonly framework: Framework;
  /** Below the catalogue's folder. npm, and git of Node: the folder of the lockfile; PyPI, and git of Python: `python/<lock>.txt` holds the wheels that the tests need. */
  readonly lock?: string | undefined;
  /**
   * npm, all frameworks but tape: packages mounted whole, with all they depend on, beside the framework's own and the package's own.
   * pytest: modules of plugins; none is loaded that is not named.
   */
  readonly tools?: readonly string[] | undefined;
  /** git: what the ref stands for. */
  readonly commit?: string | undefined;
  /** docker: what the name stands for. */
  readonly image?: SandboxImage | undefined;
  /** Only with `command`. `scope` is empty. */
  readonly test?: Omit<TestCommand, "scope"> | undefined;
  /** Where the tests need other limits than the usual ones. */
  readonly limits?: LimitOverrides | undefined;
}

export interface PreparedEnvironment {
  /** `<name>@<version>-<12 hex of the hash of everything that determines the tree and its tests>`. */
  readonly key: string;
  readonly entry: CatalogueEntry;
  /** Host folder with the project's tree (no node_modules). Never written after preparation. */
  readonly root: string;
  /** Host folder with the test tools and dependencies, without a copy of the project's own source; `mounts` says where a sandbox has it. Empty for an image. */
  readonly modules: string;
  /** The image whose files the tree is; null = the runtime's own system. */
  readonly image: SandboxImage | null;
  /** Read-only mounts every sandbox of the environment gets: dependencies and tools. */
  readonly mounts: SandboxSpec["mounts"];
  /** Variables of every command. */
  readonly env: Readonly<Record<string, string>>;
  /** What runs the tests, in order. */
  readonly commands: readonly TestCommand[];
  /** Baseline: status of each test, by its name in the report; tape: `<test file> > <test name> > <assertion name>#<ordinal>`. */
  readonly baseline: StatusMap;
  readonly baselineRuns: number;
  /** CPU seconds of the slowest baseline run; limits of later runs come from it. */
  readonly cpuSeconds: number;
  readonly unstable: readonly string[];
}
