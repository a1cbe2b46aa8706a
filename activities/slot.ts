/** A slot between its attempts: the sandbox that the next one goes on in. */
import { isWhereLeft, type LedgerTurn, type RolloutRequest, replayCalls } from "../services/harness/index.ts";
import {
  type Sandbox,
  SandboxError,
  type SandboxIdentity,
  type SandboxRuntime,
  type SandboxSpec,
  tookAllMemory,
} from "../services/sandbox/runtime.ts";

interface Restoring {
  readonly spec: SandboxSpec;
  readonly identity: SandboxIdentity;
  /** Turns of the attempt before, and the fence of its sandbox. */
  readonly resumed: readonly LedgerTurn[];
  readonly previousFence: string | null;
  readonly settings: Pick<RolloutRequest, "signal" | "commandCpuSeconds" | "commandCache">;
  /** Every sandbox that is made or taken over, the last one is the rollout's. */
  readonly onSandbox: (sandbox: Sandbox) => void;
  /** Drops the recorded turns for a reason, before the sandbox for a new beginning is made. */
  readonly onAnew: (reason: string) => Promise<void>;
}

/** The sandbox as the slot's turns say it should be, with those to go on from; none when it could not be had. */
export async function restoreSandbox(
  runtime: SandboxRuntime,
  { spec, identity, resumed, previousFence, settings, onSandbox, onAnew }: Restoring,
): Promise<{ readonly sandbox: Sandbox; readonly rows: readonly LedgerTurn[] }> {
  const make = async (as = identity) => {
    await runtime.removeSlot(identity);
    const sandbox = await runtime.create(spec, as);
    onSandbox(sandbox);
    return sandbox;
  };
  if (resumed.length === 0) return { sandbox: await make(), rows: [] };
  const adopted =
    previousFence === null
      ? undefined
      : await runtime.adopt({ slot: identity.slot, fence: previousFence }, identity);
  if (adopted !== undefined) {
    onSandbox(adopted);
    if (await isWhereLeft(adopted, resumed)) {
      await runtime.removeSlot(identity, identity.fence);
      return { sandbox: adopted, rows: resumed };
    }
  }
  // Under a fence that no next attempt asks for: cut half way, it may have the tree already, and not yet the empty folders or /tmp.
  const replaying = { ...identity, fence: `${identity.fence}-replay` };
  const made = await make(replaying);
  const difference = await replayCalls({ ...settings, sandbox: made }, resumed).catch((error) => {
    if (tookAllMemory(error)) return "the calls took all memory when they were made again";
    throw error;
  });
  if (difference === null) {
    const sandbox = await runtime.adopt(replaying, identity);
    if (sandbox === undefined)
      throw new SandboxError("lost", "the sandbox vanished after the calls were made again");
    onSandbox(sandbox);
    return { sandbox, rows: resumed };
  }
  await onAnew(`begun anew: ${difference}`);
  return { sandbox: await make(), rows: [] };
}
