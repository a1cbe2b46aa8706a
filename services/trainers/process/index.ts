/**
 * A trainer that is a process of its own (docs/gpu-worker.md): started by the first update that needs it, found again by whichever worker
 * comes next, ended when it is idle and its worker closes.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactRef } from "../../../core/artifact.ts";
import { type PolicyRef, policyId, policyKind } from "../../../core/policy.ts";
import { materialise, packCheckpoint, removeFolders } from "../../checkpoints/index.ts";
import { hashJson } from "../../hashing/index.ts";
import type { ArtifactStore } from "../../store/index.ts";
import { TrainerError } from "../errors.ts";
import type { TrainedFile } from "../protocol.ts";
import type { Trainer, TrainerSession, UpdateResult, UpdateSettings } from "../trainer.ts";
import { connectTrainer } from "./connection.ts";
import { type Orders, runOrder } from "./order.ts";
import { endProcess, findProcess } from "./session.ts";
import { layOutState } from "./state.ts";
import { WATCHDOG, type WatchdogLimits } from "./watchdog.ts";

export interface ProcessTrainerOptions {
  readonly kind: "torch" | "slime";
  /** The program and its first arguments; the flags of protocol.ts follow. */
  readonly command: readonly string[];
  /** Of this trainer alone, absolute: its session, what it reads and what it makes. One worker at a time. */
  readonly folder: string;
  readonly artifacts: ArtifactStore;
  readonly env?: NodeJS.ProcessEnv;
  readonly watchdog?: WatchdogLimits;
}

export function createProcessTrainer(options: ProcessTrainerOptions): Trainer {
  const { kind, command, artifacts, env = process.env, watchdog: limits = WATCHDOG } = options;
  const folders = {
    session: join(options.folder, "session"),
    parents: join(options.folder, "parents"),
    states: join(options.folder, "states"),
    batches: join(options.folder, "batches"),
    made: join(options.folder, "made"),
  };
  const steps: number[] = [];
  let session: TrainerSession | null = null;

  return {
    name: kind,

    async open({ size, dtype, packTokens, gradientCheckpointing }) {
      session = { size, dtype, packTokens, gradientCheckpointing };
      for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
    },

    async update(batch, parent, settings, progress) {
      if (session === null) throw new Error("a trainer is opened before its first update");
      const { freshOptimizer, ...rest } = settings;
      const key = updateKey({ kind, session, batch, parent, settings });
      const model = await materialise(artifacts, parent, folders.parents);
      const file = join(folders.batches, `${batch.sha256}.arrow`);
      const state = await onThisDisk(options.folder, async () => {
        await artifacts.getFile(batch, file);
        return freshOptimizer ? null : layOutState(artifacts, parent, folders.states);
      });
      const orders: Orders = {
        folder: folders.session,
        wanted: { command, session },
        ...{ env, limits, steps },
        tidy: (keep) => clear(folders.made, [keep]),
      };
      const out = join(folders.made, key);
      const order = { key, parent: model, optimizer: state, batch: file, out, settings: rest };
      const trained = await runOrder(orders, order, progress);
      const made = await result(artifacts, parent, out, trained);
      // The last update stays: its worker may die before it has said what it made.
      await clear(folders.made, [key]);
      await removeFolders(folders.parents, new Set([parent.id]), 0);
      await clear(folders.states, [parent.id]);
      await clear(folders.batches, []);
      return made;
    },

    async close() {
      const found = await findProcess(folders.session);
      if (found === null) return;
      const listening = await found.session();
      // One that does not listen yet has nothing in hand.
      if (listening === null) return endProcess(found);
      const connection = await connectTrainer(listening);
      if (connection === null) return;
      connection.send({ op: "stop" }, () => {});
      connection.end();
    },
  };
}

/** All that decides what an update makes. */
export function updateKey(of: {
  readonly kind: string;
  readonly session: TrainerSession;
  readonly batch: ArtifactRef;
  readonly parent: PolicyRef;
  readonly settings: UpdateSettings;
}): string {
  const { size: _, ...session } = of.session;
  return hashJson({
    ...{ kind: of.kind, session, settings: of.settings },
    ...{ batch: of.batch.sha256, parent: of.parent.checkpoint.sha256 },
  });
}

async function result(
  artifacts: ArtifactStore,
  parent: PolicyRef,
  out: string,
  trained: TrainedFile,
): Promise<UpdateResult> {
  const hasState = trained.files.some(({ path }) => path.startsWith("optimizer/"));
  const checkpoint = await packCheckpoint(artifacts, {
    model: join(out, "model"),
    optimizer: hasState ? join(out, "optimizer") : null,
    step: trained.step,
  });
  const id = policyId(policyKind(parent.id), checkpoint.sha256);
  return {
    policy: { id, checkpoint, parent: parent.id, step: trained.step },
    metrics: trained.metrics,
  };
}

/** Throws TrainerError `disk` where there is no room for what `work` writes. */
async function onThisDisk<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOSPC" && code !== "EDQUOT") throw error;
    throw new TrainerError("disk", `no space left in ${folder} for what an update reads: free some`, {
      cause: error,
    });
  }
}

/** Removes all of a folder but these names. */
async function clear(folder: string, keep: readonly string[]): Promise<void> {
  for (const name of await readdir(folder))
    if (!keep.includes(name)) await rm(join(folder, name), { recursive: true, force: true });
}
