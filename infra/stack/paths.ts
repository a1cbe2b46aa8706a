/** Where the stack keeps its files. */
import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";

/** The checkout (or installed package) this code runs from. */
export const packageRoot = resolve(import.meta.dirname, "../..");

/** Absolute path of the data folder: `TADPOLE_DATA`, else `.tadpole` in the checkout, whatever the current folder is. */
export function dataFolder(env: NodeJS.ProcessEnv = process.env): string {
  const given = env.TADPOLE_DATA;
  return canonical(given ? resolve(given) : join(packageRoot, ".tadpole"));
}

/** Two spellings of one folder must be one stack, so links are resolved once the folder exists. */
export function canonical(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}

export function stackFiles(folder: string) {
  return {
    state: join(folder, "stack.json"),
    version: join(folder, "version.json"),
    logs: join(folder, "logs"),
    /** Raw output of the supervisor: what it says before its log is open, or as it dies. */
    supervisorOutput: join(folder, "logs", "supervisor.out"),
    temporalDatabase: join(folder, "temporal.db"),
    postgres: join(folder, "postgres"),
    postgresPassword: join(folder, "postgres.password"),
  };
}

/** While this file exists the supervisor does not start that process: an outage on purpose, for tests and for service. */
export function heldDownFile(folder: string, process: string): string {
  return join(folder, "down", process);
}

export function logFile(folder: string, process: string): string {
  return join(stackFiles(folder).logs, `${process}.log`);
}

export const supervisorEntry = join(packageRoot, "infra/stack/supervisor.ts");

/** Tells the supervisors of two data folders apart by their command lines. */
export function supervisorMark(folder: string): string {
  return `${supervisorEntry} ${folder}`;
}

/** A supervisor's exit when another one already holds its folder: no failure, the caller joins that one. */
export const lockHeldExitCode = 75;
