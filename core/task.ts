/** What a task is: a repository snapshot, a statement, a gold patch and hidden grading tests (docs/method.md §2). */

/** The paper's five exclusive task types. */
export const TASK_TYPES = ["bug", "feature", "refactor", "migration", "performance"] as const;
export type TaskType = (typeof TASK_TYPES)[number];

export const GENERATORS = ["mutation", "combination", "removal", "history", "llm", "exercise"] as const;
export type GeneratorName = (typeof GENERATORS)[number];

/** One change to one file of a repository tree. Paths are relative to its root, with `/`. */
export type FileChange =
  | {
      readonly kind: "write";
      readonly path: string;
      readonly content: string;
      readonly encoding: "utf8" | "base64";
      readonly executable?: boolean;
    }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string }
  | { readonly kind: "delete"; readonly path: string };

/** A test's status, by its name in the environment's test report. `xfail` and `skipped` never count as passed. */
export type TestStatus = "passed" | "failed" | "skipped" | "xfail";
export type StatusMap = Readonly<Record<string, TestStatus>>;

/** Formats that test reports are read from; `services/grading/parsers` has one parser for each. */
export const REPORT_FORMATS = [
  "tap",
  "pytest",
  "unittest",
  "node-test",
  "jest",
  "vitest",
  "mocha",
  "go-test",
  "cargo-test",
  "junit",
  "reward",
] as const;
export type ReportFormat = (typeof REPORT_FORMATS)[number];

/** One command that runs tests, and where its report is. */
export interface TestCommand {
  /** Stands before its tests' names, as `<scope> > <name>`; "" = nothing does. */
  readonly scope: string;
  readonly argv: readonly string[];
  readonly format: ReportFormat;
  /** File the command writes its report to, absolute or relative to the working tree; null = it prints it. */
  readonly reportFile: string | null;
}

/** What is taken out of the agent's box, made again, for the one that judges. */
export interface Collected {
  /** Run one after the other before anything is taken. One that fails changes nothing. */
  readonly collect: readonly { readonly argv: readonly string[]; readonly timeoutSeconds: number }[];
  /** Files and folders, by absolute paths, that go to the same paths of the other box; `exclude` are tar's patterns. */
  readonly artifacts: readonly { readonly source: string; readonly exclude: readonly string[] }[];
}

/** A box of another image than the environment's, in which a verifier's commands run. What is collected for it is all that it has of the agent's work. */
export interface VerifierBox extends Collected {
  /** Pinned: the image's id `sha256:…`. */
  readonly image: string;
  /** Where the commands run in it; absolute. */
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly limits: { readonly memoryMb: number; readonly processes: number; readonly diskMb: number };
}

/** How solutions are judged where it is not by the environment's own tests: tasks that were imported bring their own. */
export interface Verifier {
  /** Written into the fresh box once the agent's change is in and protected files are back. Paths may be absolute. */
  readonly files: readonly FileChange[];
  readonly commands: readonly TestCommand[];
  /** Where given, each test must have exactly this status and no other test may be there (R2E-Gym). */
  readonly exact: StatusMap | null;
  readonly timeoutSeconds: number;
  /** Absent = in a fresh box of the environment, on the agent's whole tree. */
  readonly box?: VerifierBox;
  /** Without `box`: put over the agent's whole tree. What runs there to be collected may be the agent's, so it runs where no file of the verifier's is. */
  readonly collected?: Collected;
}

/** A few lines an agent can run, as a bug report carries them: what they print, and what they should print. */
export interface Reproduction {
  /** A script for the language's interpreter (`node -e`, `python3 -c`), using the package by relative requires or imports. */
  readonly code: string;
  /** The exact Bash command the statement quotes; run in the repository's root. */
  readonly command: string;
  /** First line(s) printed on the task's base tree. */
  readonly actual: string;
  /** What the same command prints once the task is solved. */
  readonly expected: string;
  /** Name of the failing test (under tape: assertion) it was taken from. */
  readonly assertion: string;
}

/** Wording of a task that an author or a commit gave; tasks without one are worded from their sites and reproduction. */
export interface AuthoredText {
  /** One line. */
  readonly title: string;
  /** What is wrong or wanted, as its user sees it; never more than level 0 may say. */
  readonly body: string;
  /** Behaviours, names and values that the tests need and the tree does not show: from level 1 on. "" = nothing. */
  readonly contract: string;
}

/** Where a task comes from, for people and for caps. */
export interface TaskOrigin {
  /** The commit it was made of; hashes are whole. */
  readonly commit?: { readonly repository: string; readonly sha: string; readonly parent: string };
  /** The model that wrote it, the mode it was asked for, and the versioned prompt: its name and sha256 (hex). */
  readonly author?: {
    readonly model: string;
    readonly mode: string;
    readonly prompt: string;
    readonly promptHash: string;
    /** Times it was sent back with what a gate or a probe said. */
    readonly repairs: number;
  };
  /** The task that it is a revision of, and how it was made from that. */
  readonly revises?: { readonly task: string; readonly action: string; readonly round: number };
}

/** What a solution must show beside its tests, by type. A check of the verifier decides it; this is what it was made from. */
export type TypeCheck =
  | {
      readonly type: "performance";
      /** A script of the environment's language that does the work once; its path in the judging box. */
      readonly workload: FileChange;
      /** Times that the solved tree must be faster than the base tree, at least: > 1. */
      readonly minSpeedup: number;
    }
  | { readonly type: "refactor"; readonly structure: readonly StructuralAssertion[] }
  | {
      readonly type: "migration";
      /** Modules that no source file may import any more, and modules that one must. */
      readonly absent: readonly string[];
      readonly present: readonly string[];
    };

/** One statement about the shape of the sources that is false on the base tree and true on the solved one. */
export type StructuralAssertion =
  | { readonly kind: "defines" | "lacks"; readonly file: string; readonly symbol: string }
  | { readonly kind: "max-lines"; readonly file: string; readonly symbol: string; readonly lines: number }
  | {
      readonly kind: "calls";
      readonly file: string;
      readonly symbol: string;
      readonly from: string;
      readonly atLeast: number;
    }
  | { readonly kind: "max-copies"; readonly files: readonly string[]; readonly tokens: number };

/** What the statement writer may say, most specific last. Never all of it: see `StatementLevel`. */
export interface TaskFacts {
  /** Site(s) of the change, in the order made. A combination has two. */
  readonly sites: readonly {
    readonly file: string;
    readonly functionName: string;
    readonly line: number;
    readonly operator: string;
  }[];
  readonly reproduction: Reproduction | null;
  /** Absent = worded from the sites and the reproduction. */
  readonly text?: AuthoredText;
  /** The least specific statement that still says all that the tests need; absent = 0. Refinement never goes below it. */
  readonly neededLevel?: StatementLevel;
  /** What its verifier's check was made from; absent = tests alone decide. */
  readonly check?: TypeCheck;
  readonly origin?: TaskOrigin;
}

export interface Task {
  /** `t` + 16 hex digits of the hash of everything below, of `facts` only the authored text. */
  readonly id: string;
  /** Key of the prepared environment the task lives in. */
  readonly environment: string;
  readonly type: TaskType;
  /** `import`: read from a file of another project's tasks. */
  readonly generator: GeneratorName | "import";
  /** Environment snapshot -> base tree, the tree the agent starts from (hidden files are removed besides). */
  readonly base: readonly FileChange[];
  /** Base tree -> solved tree. Never shown to the policy. */
  readonly gold: readonly FileChange[];
  /** Test files absent from the agent's tree; they are mounted only in the fresh grading sandbox. */
  readonly hiddenFiles: readonly string[];
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
  /** `<package>#<file>#<function>` of each site: the unit by which held-out tasks are split. */
  readonly functions: readonly string[];
  readonly facts: TaskFacts;
  /** Absent = the environment's own tests. */
  readonly verifier?: Verifier;
}

/**
 * How much a statement gives away: 0 the symptom alone; 1 adds a runnable reproduction; 2 adds the function's name;
 * 3 adds the file, the line and the kind of mistake.
 */
export type StatementLevel = 0 | 1 | 2 | 3;

export interface Statement {
  readonly taskId: string;
  readonly level: StatementLevel;
  readonly text: string;
  /** sha256 of `text`, hex. */
  readonly hash: string;
}

/** The rule of grading that decided a verdict (docs/grading.md). */
export type VerdictRule =
  | "all-passed"
  | "patch-does-not-apply"
  | "fail-to-pass-failed"
  | "pass-to-pass-failed"
  | "statuses-differ"
  | "no-tests-parsed"
  | "exit-code"
  | "harness-tampered"
  | "timeout"
  | "killed"
  | "infrastructure";

/** `infrastructure` is no sample: never a reward of 0. */
export const VERDICT_OUTCOMES = ["passed", "failed", "infrastructure"] as const;
export type Outcome = (typeof VERDICT_OUTCOMES)[number];

/** What a verdict or a validation rests on, by hashes. It is found again only while all of them are the same. */
export interface Evidence {
  /** sha256 (hex) of the whole task. */
  readonly task: string;
  /** sha256 (hex) of the graded tree, protected files restored; "" where there is none, the change not being applicable. */
  readonly tree: string;
  /** Key of the environment. */
  readonly environment: string;
  /** sha256 (hex) of the task's verifier; null = the environment's own tests judge. */
  readonly verifier: string | null;
  /** Version of the rules of grading. */
  readonly rules: string;
}

export interface Verdict {
  readonly outcome: Outcome;
  readonly rule: VerdictRule;
  /** Names that broke the rule (at most 20), for people. */
  readonly offending: readonly string[];
  readonly statuses: StatusMap;
  /** sha256 of the graded tree (protected files restored). */
  readonly treeHash: string;
  readonly evidence: Evidence;
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  readonly mode: "cold" | "warm" | "reused";
  /** What the commands printed, cut; absent where none ran for this verdict. */
  readonly log?: string;
}
