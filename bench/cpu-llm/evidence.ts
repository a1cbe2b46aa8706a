/**
 * `npm run evidence:cpu-llm`: does a real model learn by this pipeline? Three seeds of experiments/cpu-llm.yaml with a real vLLM server and the PyTorch
 * trainer; on the first one the trainer is killed once, and the server once. Everything runs through the stack and is named by its seed, so it can be
 * stopped and started again. Writes docs/cpu-lane.json and prints what it says.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { progressLine } from "../../apps/cli/progress.ts";
import {
  codeVersion,
  loadExperiment,
  outcome,
  type Session,
  startExperiment,
  withStack,
} from "../../apps/control/index.ts";
import { random } from "../../core/random.ts";
import { packageRoot } from "../../infra/stack/index.ts";
import { readProgress } from "../../services/store/index.ts";
import { updateSeries } from "../../services/store/series.ts";
import { type RunningEngine, startEngine } from "./engine.ts";
import { lane } from "./lane.ts";
import { type Point, type Trend, trendOf } from "./trend.ts";

const SEEDS = [1, 2, 3];
const FILE = join(packageRoot, "experiments/cpu-llm.yaml");
const MODEL = join(lane.folder, "models", "scribe");
const PORT = 8017;
/** Of the first seed, once that many updates are made. */
const KILLS = { trainer: 3, engine: 6 } as const;

interface Seed {
  readonly seed: number;
  readonly points: readonly Point[];
  readonly trend: Trend;
  /** Who was killed, and after which update. */
  readonly killed: Readonly<Record<string, number>>;
  /** Rollouts on record, and those of another version than their group's policy, or with several versions. */
  readonly rollouts: number;
  readonly mixed: number;
}

for (const [path, by] of [
  [lane.vllm, "gpu-path:install -- --vllm"],
  [MODEL, "gpu-path:model"],
] as const)
  if (!existsSync(path)) {
    console.error(`${path} is missing: npm run ${by} makes it`);
    process.exit(1);
  }

const log = join(lane.folder, "logs", "evidence-engine.log");
let engine: RunningEngine | undefined;
let worker: ChildProcess | undefined;

const serve = async () => {
  engine = await startEngine({ model: MODEL, port: PORT, log });
};

await withStack(async (session) => {
  try {
    console.log(`starting vLLM, about a minute; log: ${log}`);
    await serve();
    worker = spawn(process.execPath, [join(packageRoot, "bin/tadpole.mjs"), "worker", "gpu", "--cpu"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const seeds: Seed[] = [];
    for (const seed of SEEDS) {
      seeds.push(await run(session, seed));
      const all = trendOf(
        seeds.map(({ points }) => points),
        random(0, "trend"),
      );
      const value = { codeVersion: await codeVersion(), all, seeds };
      await writeFile(join(packageRoot, "docs/cpu-lane.json"), `${JSON.stringify(value, null, 2)}\n`);
      for (const one of seeds) console.log(said(`seed ${one.seed}`, one.trend), JSON.stringify(one.killed));
      console.log(said("all", all));
    }
  } finally {
    worker?.kill();
    await engine?.stop();
  }
});

function said(name: string, { slope, low, high }: Trend): string {
  const percent = (value: number) => (100 * value).toFixed(2);
  return `${name}: mean reward rises by ${percent(slope)} points per update [${percent(low)}, ${percent(high)}]`;
}

async function run(session: Session, seed: number): Promise<Seed> {
  const name = `cpu-llm-${seed}`;
  const { settings } = await loadExperiment(FILE, {
    seed,
    set: [`policy.model=${MODEL}`, `policy.engines.urls=["http://127.0.0.1:${PORT}"]`],
  });
  const started = await startExperiment({ ...session, codeVersion: await codeVersion() }, name, settings);
  console.log(`${name}: ${started}`);
  const killed: Record<string, number> = {};
  const ended = new AbortController();
  const watching = (async () => {
    while (!ended.signal.aborted) {
      await wait(5_000);
      const progress = await readProgress(session.db, name).catch(() => null);
      if (progress === null) continue;
      console.log(progressLine(progress, settings));
      if (seed === SEEDS[0] && started !== "finished") await disturb(session, name, killed);
    }
  })();
  const failure = started === "finished" ? null : await outcome(session, name);
  ended.abort();
  await watching;
  if (failure !== null) throw new Error(`${name} failed: ${failure.reason}`);
  const series = await updateSeries(session.db, name);
  const points = series.flatMap(({ update, meanReward }) =>
    meanReward === null ? [] : [{ update, reward: meanReward }],
  );
  return {
    seed,
    points,
    trend: trendOf([points], random(0, "trend", seed)),
    killed,
    ...(await versionsOf(session, name)),
  };
}

/** Both come back by themselves: the worker starts another trainer, whoever runs the server starts it anew, and the keeper gives it its weights. */
async function disturb(session: Session, name: string, killed: Record<string, number>): Promise<void> {
  const made = (await updateSeries(session.db, name)).length;
  if (killed.trainer === undefined && made >= KILLS.trainer) {
    const file = join(session.stack.dataFolder, "trainers/torch-any/session/session.json");
    const { pid } = JSON.parse(readFileSync(file, "utf8")) as { pid: number };
    process.kill(pid, "SIGKILL");
    killed.trainer = made;
    console.log(`killed the trainer, process ${pid}, after update ${made}`);
  }
  if (killed.engine === undefined && made >= KILLS.engine) {
    killed.engine = made;
    console.log(`killed vLLM, process ${engine!.pid}, after update ${made}`);
    await engine!.stop("SIGKILL");
    await serve();
  }
}

async function versionsOf({ db }: Session, name: string): Promise<Pick<Seed, "rollouts" | "mixed">> {
  const rows = await db
    .selectFrom("rollouts")
    .innerJoin("groups", "groups.key", "rollouts.group_key")
    .select(["rollouts.policy", "rollouts.versions", "groups.policy as wanted"])
    .where("groups.experiment", "=", name)
    .execute();
  return {
    rollouts: rows.length,
    mixed: rows.filter(({ policy, versions, wanted }) => versions !== null || policy !== wanted).length,
  };
}
