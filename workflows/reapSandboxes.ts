/** What the schedule of each sandbox host starts (workers/reaping.ts): one look at what was left in its sandboxes. */
import type { ReapReport } from "../activities/reapSandboxes.ts";
import { onHost } from "./config.ts";

export interface ReapInput {
  /** For people. */
  readonly host: string;
  /** Served by the sandbox workers of that host alone. */
  readonly queue: string;
}

/** Fails when nobody serves the host any more, which pauses the schedule. */
export async function reapSandboxes({ host, queue }: ReapInput): Promise<ReapReport> {
  return onHost(queue, `remove what was left in sandboxes of ${host}`).reapSandboxes();
}
