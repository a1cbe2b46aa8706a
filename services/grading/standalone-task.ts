/** What the grader needs that runs as a program of its own (`standalone.ts`). */
import type { Task, TestCommand } from "../../core/task.ts";
import type { CanaryEntry } from "./canary.ts";

export interface StandaloneTask extends Pick<Task, "failToPass" | "passToPass"> {
  /** Absolute path of the base tree, which becomes the graded one. */
  readonly workdir: string;
  /** A tar archive of the agent's tree. */
  readonly agentArchive: string;
  /** Folder that holds `restored`. */
  readonly tests: string;
  /** What is put back before the tests run, in place of whatever is there: tests and what steers them; relative to the tree. */
  readonly restored: readonly string[];
  /** Further files and folders of the tree that no change may decide: dependencies, reports. */
  readonly fixed: readonly string[];
  /** Paths of the reference solution: a change may decide them even where they steer tests. */
  readonly allowed: readonly string[];
  /** Tests that may fail, as they do in the untouched tree. */
  readonly tolerated: readonly string[];
  readonly commands: readonly TestCommand[];
  /** Of the environment, for the canary. */
  readonly entry: CanaryEntry;
  /** The whole environment of a command. */
  readonly env: Readonly<Record<string, string>>;
  /** Of all commands together. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
}
