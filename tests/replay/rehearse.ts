/** What is run for the recorder: an experiment that nobody touches, an asynchronous one, one that is steered in every way, and a scheduled run. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  amendExperiment,
  codeVersion,
  createSchedule,
  loadExperiment,
  outcome,
  pauseExperiment,
  resumeExperiment,
  type Session,
  skipPhase,
  startExperiment,
  steeringState,
  stopExperiment,
  triggerSchedule,
} from "../../apps/control/index.ts";
import type { ExperimentSteering } from "../../core/steering.ts";
import { packageRoot } from "../../infra/stack/index.ts";

const SOURCE = join(packageRoot, "tests/support/smallest.yaml");
/** A lag, and checkpoints to choose from. */
const MORE = ["climb.maxLag=1", "selection.everyUpdates=1"];
const LOOK_MS = 50;

export async function rehearse(session: Session, say: (line: string) => void): Promise<void> {
  const context = { ...session, codeVersion: await codeVersion() };
  const start = async (name: string, ...set: string[]) => {
    const { settings } = await loadExperiment(SOURCE, { set: [...MORE, ...set] });
    await startExperiment(context, name, settings);
    say(`${name} has begun`);
  };
  const ended = async (name: string) => {
    const failure = await outcome(session, name);
    say(`${name} has ended${failure === null ? "" : `: ${failure.reason}`}`);
  };

  await start("plain", "iterations=2");
  await ended("plain");

  await start(
    "paced",
    "iterations=1",
    "climb.updates=6",
    "climb.pace.kind=async",
    "climb.pace.trajectories=16",
  );
  await ended("paced");

  await start("steered", "iterations=3", "climb.updates=8", "seed=3");
  await steer(session, "steered", say);
  await ended("steered");

  const { settings } = await loadExperiment(SOURCE, { set: [] });
  await createSchedule(session, {
    name: "scheduled",
    every: "1d",
    work: { kind: "run", source: SOURCE, settings },
  });
  await triggerSchedule(session, "scheduled");
  const running = () => session.client.workflow.count("ExecutionStatus = 'Running'");
  do await sleep(1000);
  while ((await running()).count > 0);
  say("scheduled has ended");
}

/** Amended, paused and resumed in its first pool; pool, climb and selection of the second iteration are skipped; stopped in the third. */
async function steer(session: Session, name: string, say: (line: string) => void): Promise<void> {
  const reach = async (what: string, is: (state: ExperimentSteering) => boolean) => {
    for (;;) {
      const state = await steeringState(session, name);
      if (state.status === "ended") throw new Error(`${name} ended before it was ${what}`);
      if (is(state)) return say(`${name} is ${what}`);
      await sleep(LOOK_MS);
    }
  };
  const at = (iteration: number, phase: string) =>
    reach(
      `in the ${phase} of iteration ${iteration}`,
      (state) => state.iteration === iteration && state.phase === phase,
    );

  await at(1, "pool");
  await amendExperiment(session, name, { request: "amend", path: "climb.updates", value: 6 });
  await pauseExperiment(session, name, { request: "pause", reason: "rehearsed" });
  await reach("paused", ({ status }) => status === "paused");
  await resumeExperiment(session, name, { request: "resume" });
  for (const phase of ["pool", "climb", "selection"]) {
    await at(2, phase);
    await skipPhase(session, name, { request: `skip the ${phase}` });
  }
  await at(3, "pool");
  await stopExperiment(session, name, { request: "stop" });
}
