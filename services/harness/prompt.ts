/** The first two messages of every rollout. */
import type { Message } from "../../core/trajectory.ts";

/** Part of every pass rate's key: to be raised whenever a policy could see or do something else than before. */
export const HARNESS_VERSION = "leaf-1";

export const SYSTEM_PROMPT =
  "You are a software engineer at work in a repository that is checked out in front of you.\n" +
  "Look around, change what must be changed and no more, and run commands, all through your tools.\n" +
  "Solve the task, check your work where that is practical, and close with a short answer.";

export function firstMessages(statement: string): Message[] {
  return [
    { role: "system", content: SYSTEM_PROMPT },
    { role: "user", content: statement },
  ];
}
