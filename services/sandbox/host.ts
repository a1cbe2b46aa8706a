/** The sandboxes of a host, whatever made them: a runtime that does not work here keeps the others from nothing. */
import type { SandboxRuntimeName } from "../../core/experiment.ts";
import type { SandboxInfo, SandboxRuntime } from "./runtime.ts";

export interface Found {
  /** By age, the oldest first. */
  readonly sandboxes: readonly SandboxInfo[];
  /** Runtimes that could not be asked, and why. */
  readonly problems: readonly { readonly runtime: SandboxRuntimeName; readonly reason: string }[];
}

export interface Reaped extends Pick<Found, "problems"> {
  readonly removed: readonly SandboxInfo[];
  readonly left: readonly SandboxInfo[];
}

export interface ReapOptions {
  readonly now: number;
  readonly graceMs: number;
  readonly experiment?: string;
  /** Live ones, too: whatever runs in them fails, and is tried again. */
  readonly all?: boolean;
}

export async function listSandboxes(runtimes: readonly SandboxRuntime[], now: number): Promise<Found> {
  const { results, problems } = await ask(runtimes, (runtime) => runtime.list(now));
  return { sandboxes: results.flat().sort(byAge), problems };
}

/** What was there before and is not afterwards was removed, if it was not alive: a live one may have ended by itself. */
export async function reapSandboxes(
  runtimes: readonly SandboxRuntime[],
  { now, graceMs, experiment, all = false }: ReapOptions,
): Promise<Reaped> {
  const { results, problems } = await ask(runtimes, async (runtime) => {
    const wanted = ({ identity }: SandboxInfo) =>
      experiment === undefined || identity.experiment === experiment;
    const before = (await runtime.list(now)).filter(wanted);
    if (all) for (const { identity } of before) await runtime.removeSlot(identity);
    await runtime.reap({ now, graceMs, ...(experiment === undefined ? {} : { experiment }) });
    const left = (await runtime.list(now)).filter(wanted);
    const names = new Set(left.map(({ name }) => name));
    const removed = before.filter(({ name, state }) => !names.has(name) && (all || state !== "live"));
    return { removed, left };
  });
  return {
    removed: results.flatMap(({ removed }) => removed).sort(byAge),
    left: results.flatMap(({ left }) => left).sort(byAge),
    problems,
  };
}

const byAge = (a: SandboxInfo, b: SandboxInfo) => a.created - b.created || (a.name < b.name ? -1 : 1);

async function ask<T>(
  runtimes: readonly SandboxRuntime[],
  work: (runtime: SandboxRuntime) => Promise<T>,
): Promise<{ readonly results: readonly T[]; readonly problems: Found["problems"] }> {
  const results: T[] = [];
  const problems: { runtime: SandboxRuntimeName; reason: string }[] = [];
  for (const runtime of runtimes) {
    try {
      results.push(await work(runtime));
    } catch (error) {
      problems.push({ runtime: runtime.name, reason: (error as Error).message });
    }
  }
  return { results, problems };
}
