/** Where a steered experiment stands, for people and programs; what the steering commands share. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Command, InvalidArgumentError } from "commander";
import type { ExperimentSteering, SteeringStatus } from "../../core/steering.ts";
import type { Session } from "../control/index.ts";
import { wantsJson } from "./command.ts";
import { writeJson, writeLine } from "./output.ts";

const POLL_MS = 1000;

export interface SteeringOptions {
  readonly request?: string;
}

export function requestOf({ request }: SteeringOptions): string {
  return request ?? randomUUID();
}

/** Adds `--request`: the same id again changes nothing. */
export function withRequest(command: Command): Command {
  return command.option(
    "--request <id>",
    "id of this request; the same one again changes nothing (default: a random one)",
    requestId,
  );
}

function requestId(text: string): string {
  if (/^[A-Za-z0-9._:-]{1,200}$/.test(text)) return text;
  throw new InvalidArgumentError(
    "expected at most 200 letters, digits, dots, colons, hyphens and underscores",
  );
}

/** `held: <reason> · tadpole resume NAME`. */
export function holdLine(reason: string, name: string): string {
  return `held: ${reason} · tadpole resume ${name}`;
}

/** One line where it stands, one for a hold, one per amendment. */
export function steeringLines(name: string, state: ExperimentSteering): string[] {
  const where = state.iteration === 0 ? state.phase : `iteration ${state.iteration}, ${state.phase}`;
  const again = state.try > 1 ? ` (try ${state.try})` : "";
  const policy = state.policy === null ? "" : ` · policy ${state.policy}`;
  return [
    `${name}: ${state.status} · ${where}${again}${policy}`,
    ...(state.error == null ? [] : [`why: ${state.error}`]),
    ...(state.hold === null ? [] : [holdLine(state.hold.reason, name)]),
    ...state.amendments.map(
      ({ path, old, value, fromIteration }) =>
        `amended: ${path} ${old} → ${value} from iteration ${fromIteration}`,
    ),
  ];
}

export function writeSteering(command: Command, name: string, state: ExperimentSteering): void {
  if (wantsJson(command)) writeJson(state);
  else for (const line of steeringLines(name, state)) writeLine(line);
}

/** Asks until the experiment has one of the statuses; ended is always the end. */
export async function untilStatus(
  session: Session,
  name: string,
  wanted: SteeringStatus,
): Promise<ExperimentSteering> {
  const { steeringState } = await import("../control/index.ts");
  for (;;) {
    const state = await steeringState(session, name);
    if (state.status === wanted || state.status === "ended") return state;
    await sleep(POLL_MS);
  }
}
