/** The author's prompts: versioned files with places for what an assignment is about. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { TaskType } from "../../core/task.ts";
import type { PreparedEnvironment } from "../environments/types.ts";
import type { FailureNote } from "../synthesis/types.ts";
import type { Attributes } from "./axes.ts";
import type { ChatMessage } from "./chat.ts";
import type { Target } from "./types.ts";

/** A changed text is another version, under another name. */
const SYSTEM = "system-v1";
const REPAIR = "repair-v1";
export const REWRITE = "refine-v1";
const MODES: Readonly<Record<TaskType, string>> = {
  bug: "bug-v1",
  feature: "feature-v1",
  refactor: "refactor-v1",
  migration: "migration-v1",
  performance: "performance-v1",
};
export const PROMPTS: readonly string[] = [SYSTEM, REPAIR, REWRITE, ...Object.values(MODES)];

/** Characters of a note's statement, diagnosis and evidence that are shown. */
const QUOTED = 600;
/** Functions that are named as not to be changed. The check of a delivery knows all of them. */
const NAMED = 200;

export const promptText = (name: string): string =>
  readFileSync(new URL(`./prompts/${name}.md`, import.meta.url), "utf8");

/** Name and sha256 (hex) of the prompts that a mode is asked with. */
export function promptOf(mode: TaskType): { readonly prompt: string; readonly promptHash: string } {
  const names = [SYSTEM, MODES[mode], REPAIR];
  const hash = createHash("sha256");
  for (const name of names) hash.update(promptText(name)).update("\0");
  return { prompt: names.join("+"), promptHash: hash.digest("hex") };
}

/** Of what a text is rewritten with. */
export function rewritePrompt(): { readonly prompt: string; readonly promptHash: string } {
  return { prompt: REWRITE, promptHash: createHash("sha256").update(promptText(REWRITE)).digest("hex") };
}

export interface Topic {
  readonly environment: PreparedEnvironment;
  readonly mode: TaskType;
  readonly target: Target;
  readonly attributes: Attributes;
  /** Functions that must stay as they are. */
  readonly kept: readonly Target[];
  readonly failures: readonly FailureNote[];
}

export function firstMessages({
  environment,
  mode,
  target,
  attributes,
  kept,
  failures,
}: Topic): ChatMessage[] {
  const { entry, commands } = environment;
  const values = {
    package: entry.name,
    sources: entry.sources.join(", "),
    tests: entry.tests.join(", "),
    commands: [...new Set(commands.map(({ argv }) => argv.join(" ")))].slice(0, 3).join("\n"),
    target: `${target.functionName} in ${target.file}, line ${target.line}`,
    ...attributes,
    kept: kept.length === 0 ? "(none)" : keptList(kept),
    failures: failures.length === 0 ? "(none)" : failures.map(noteText).join("\n\n"),
  };
  return [
    { role: "system", content: filled(promptText(SYSTEM), values) },
    { role: "user", content: filled(promptText(MODES[mode]), values) },
  ];
}

export function repairMessage(said: readonly string[]): ChatMessage {
  return {
    role: "user",
    content: filled(promptText(REPAIR), { said: said.map((text) => `- ${text}`).join("\n") }),
  };
}

function keptList(kept: readonly Target[]): string {
  const names = [...new Set(kept.map(({ file, functionName }) => `${file}: ${functionName}`))];
  return names.slice(0, NAMED).join("\n");
}

const clip = (text: string): string => (text.length > QUOTED ? `${text.slice(0, QUOTED)}…` : text);

function noteText({ type, environment, statement, diagnosis, evidence }: FailureNote): string {
  return [
    `A ${type} task in ${environment}:`,
    ...clip(statement)
      .split("\n")
      .map((line) => `> ${line}`),
    `What became of it: ${clip(diagnosis)}`,
    `Seen: ${clip(evidence)}`,
  ].join("\n");
}

/** Throws for a place that has no value: a prompt with a hole in it is worth nothing. */
export function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`a prompt has a place for "${name}", which nothing fills`);
    return value;
  });
}
