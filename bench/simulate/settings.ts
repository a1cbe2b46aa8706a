/** Settings of the simulator: a node, as a YAML file says it. */
import { parse } from "yaml";
import { z } from "zod";

const positive = z.number().positive();
const least = z.number().nonnegative();
const whole = z.int().min(1);
const share = z.number().min(0).max(1);
const length = z.strictObject({ median: positive, sigma: least, limit: positive });

const schema = z.strictObject({
  seed: z.int().min(0),
  updates: whole,
  /** Groups of a batch. */
  batch: whole,
  groupSize: whole,
  /** In progress at once. */
  trajectories: whole,
  engines: z.strictObject({
    count: whole,
    baseSeconds: positive,
    perSequenceSeconds: positive,
    prefillWeight: least,
  }),
  trainer: z.strictObject({ tokensPerSecond: positive, fixedSeconds: least, uniformShare: share }),
  publish: z.strictObject({ seconds: least, recomputeTokensPerSecond: positive }),
  lengths: z.strictObject({
    turns: length.extend({ taskSigma: least }),
    turnTokens: length,
    resultTokens: length,
    toolSeconds: length,
    promptTokens: whole,
    contextLimit: whole,
  }),
  sandbox: z.strictObject({ bootSeconds: least, verifySeconds: least }),
});

export type NodeSettings = z.infer<typeof schema>;

export class SimulateError extends Error {
  readonly kind = "settings";
  override readonly name = "SimulateError";
}

/** `file` names it in errors. `changes`: `path=number`. Throws SimulateError, one line, with what was expected where. */
export function parseNode(text: string, file: string, changes: readonly string[] = []): NodeSettings {
  let data: unknown;
  try {
    data = parse(text);
  } catch (error) {
    throw new SimulateError(`${file}: ${(error as Error).message.split("\n")[0]}`);
  }
  for (const change of changes) set(data, change);
  const parsed = schema.safeParse(data);
  if (!parsed.success) {
    const { path, message } = parsed.error.issues[0]!;
    throw new SimulateError(`${file}: ${path.join(".") || "the whole"}: ${message}`);
  }
  if (parsed.data.trajectories < parsed.data.groupSize)
    throw new SimulateError(`${file}: trajectories: expected at least groupSize (${parsed.data.groupSize})`);
  return parsed.data;
}

function set(data: unknown, change: string): void {
  const [path = "", text = ""] = change.split("=");
  const keys = path.split(".");
  const last = keys.pop()!;
  let at = data as Record<string, unknown> | undefined;
  for (const key of keys) at = at?.[key] as Record<string, unknown> | undefined;
  if (typeof at !== "object" || !(last in at) || text === "" || !Number.isFinite(Number(text)))
    throw new SimulateError(
      `${change}: expected PATH=NUMBER of a setting, as in trainer.tokensPerSecond=40000`,
    );
  at[last] = Number(text);
}
