/** The checkpoint file of a stand-in policy: its pass rate at each level of a statement, as JSON. */
import { CheckpointError } from "../nano/checkpoint.ts";

const FORMAT = "tadpole-stand-in";
const VERSION = 1;

export interface StandInCheckpoint {
  /** Chance, 0..1, that a rollout of a task worded at level 0, 1, 2 or 3 solves it. */
  readonly passRates: readonly number[];
}

/** The same rates always give the same bytes. */
export function encodeStandIn({ passRates }: StandInCheckpoint): Uint8Array {
  return Buffer.from(`${JSON.stringify({ format: FORMAT, version: VERSION, passRates })}\n`);
}

/** Null for a file of another kind; throws `CheckpointError` for a stand-in's that says nonsense. */
export function decodeStandIn(bytes: Uint8Array): StandInCheckpoint | null {
  let value: { readonly format?: unknown; readonly version?: unknown; readonly passRates?: unknown } | null;
  try {
    value = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return null;
  }
  if (value?.format !== FORMAT) return null;
  const { version, passRates } = value;
  if (version !== VERSION)
    throw new CheckpointError("version", `version is ${String(version)}; expected ${VERSION}`);
  const rate = (one: unknown): one is number => typeof one === "number" && one >= 0 && one <= 1;
  if (!Array.isArray(passRates) || passRates.length !== 4 || !passRates.every(rate))
    throw new CheckpointError("format", "expected passRates: four numbers from 0 to 1, one for each level");
  return { passRates };
}
