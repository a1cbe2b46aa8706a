/** A trainer process that dies, hangs, lies or fills the disk, and workers that come and go: each failure has its name, and no update is made twice. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ArtifactRef } from "../../core/artifact.ts";
import { readManifest } from "../../services/checkpoints/index.ts";
import { createProcessTrainer, encodeBatch, type Trainer } from "../../services/trainers/index.ts";
import { findProcess, sessionFiles } from "../../services/trainers/process/session.ts";
import { SETTINGS } from "../contract/trainer.ts";
import { openTiny, TINY_COMMAND, TINY_SESSION, type Tiny } from "../support/tiny-trainer/open.ts";

const SHORT = { quietSeconds: 20, leastSeconds: 0.5, medians: 3 };

let tiny: Tiny;
let batch: ArtifactRef;
beforeEach(async () => {
  tiny = await openTiny();
  batch = await tiny.artifacts.put(encodeBatch(tiny.rows), "batch");
});
afterEach(() => tiny.close());

const update = (trainer: Trainer, progress: (done: number, total: number) => void = () => {}) =>
  trainer.update(batch, tiny.parent, SETTINGS, progress);
const pid = async () => (await (await findProcess(tiny.sessionOf()))?.session())?.pid ?? null;
const log = () => readFileSync(sessionFiles(tiny.sessionOf()).log, "utf8");
const updates = () => log().match(/^update /gm)?.length ?? 0;

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1000; tries++) {
    if (await condition()) return;
    await sleep(20);
  }
  throw new Error("not within 20 s");
}

describe("a trainer process fails by name", () => {
  it.each([
    ["memory", "memory", /CUDA out of memory/],
    ["collective", "collective", /Watchdog caught collective operation timeout/],
    ["disk-log", "disk", /No space left on device/],
    ["disk", "disk", /no space left for the checkpoint/],
    ["nan", "diverged", /loss is nan/],
    ["untrained", "untrained", /exit code 0 and left no checkpoint.*nothing left to train/s],
    ["torn", "untrained", /not whole: model\/model.safetensors has 2 bytes/],
    ["killed-saving", "dead", /SIGKILL/],
    ["broken-off", "dead", /signal 11/],
    ["internal", "memory", /CUDA out of memory/],
    ["start", "dead", /did not start \(exit code 1\).*No module named 'torch'/s],
  ])("%s", async (fault, kind, message) => {
    const failing = update(await tiny.trainer({ TINY_FAULT: fault }));
    await expect(failing).rejects.toMatchObject({ name: "TrainerError", kind });
    await expect(failing).rejects.toThrow(message);
  });

  it("a step that takes much longer than the median is stalled, and its process ended", async () => {
    const failing = update(
      await tiny.trainer({ TINY_FAULT: "hang" }, { watchdog: { ...SHORT, quietSeconds: 2 } }),
    );
    await expect(failing).rejects.toMatchObject({ kind: "stalled" });
    expect(await findProcess(tiny.sessionOf())).toBeNull();
  });

  it("a program that is not there", async () => {
    const missing = createProcessTrainer({
      ...{ kind: "torch", command: ["/nowhere/python"], folder: join(tiny.folder, "none") },
      artifacts: tiny.artifacts,
    });
    await missing.open!(TINY_SESSION);
    await expect(update(missing)).rejects.toThrow(/did not start \(exit code 127\).*\/nowhere\/python/s);
  });
});

describe("after a failure", () => {
  it.each(["killed-saving", "memory", "torn", "untrained"])(
    "the same update is made from the same parent: %s",
    async (fault) => {
      const undisturbed = await update(await tiny.trainer({}, { machine: "other" }));
      const once = { TINY_FAULT: fault, TINY_FAULT_ONCE: join(tiny.folder, "happened") };
      const trainer = await tiny.trainer(once);
      await expect(update(trainer)).rejects.toMatchObject({ name: "TrainerError" });
      expect(await update(trainer)).toEqual(undisturbed);
    },
  );

  it("nothing of a checkpoint that was never finished is left", async () => {
    const once = { TINY_FAULT: "killed-saving", TINY_FAULT_ONCE: join(tiny.folder, "happened") };
    const trainer = await tiny.trainer(once);
    await expect(update(trainer)).rejects.toThrow();
    const made = join(tiny.folder, "one", "made");
    expect(await readdir(made)).toEqual([expect.stringMatching(/\.partial$/)]);
    await update(trainer);
    expect(await readdir(made)).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  });
});

describe("a worker that ends", () => {
  /** Gives up as a worker does that dies in the middle of the steps: the order stands, and nobody waits for it. */
  async function abandoned(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const trainer = await tiny.trainer({ TINY_STEP_MS: "150", ...env });
    const gone = update(trainer, (done) => {
      if (done > 0) throw new Error("the worker is gone");
    });
    await expect(gone).rejects.toThrow("the worker is gone");
  }

  it("leaves the trainer at its update, and the next worker joins it", async () => {
    await abandoned();
    const before = await pid();
    expect(before).not.toBeNull();
    const seen: number[] = [];
    const { policy } = await update(await tiny.trainer(), (done) => seen.push(done));
    expect(policy.step).toBe(1);
    expect(await pid()).toBe(before);
    expect(updates()).toBe(1);
  });

  it("finds what was finished meanwhile, without asking for it again", async () => {
    await abandoned();
    await until(async () =>
      (await readdir(join(tiny.folder, "one", "made"))).some((name) => !name.includes(".")),
    );
    const trained = await update(await tiny.trainer());
    expect(updates()).toBe(1);
    expect(trained).toEqual(await update(await tiny.trainer({}, { machine: "other" })));
  });

  it("and closes lets the trainer finish its update, then end", async () => {
    await abandoned();
    const process = (await findProcess(tiny.sessionOf()))!;
    const trainer = await tiny.trainer();
    await trainer.close();
    expect(process.running()).toBe(true);
    await until(() => !process.running());
    const { policy } = await update(trainer);
    expect(policy.step).toBe(1);
    // The process that ended made it; no other one was started.
    expect(await findProcess(tiny.sessionOf())).toBeNull();
  });

  it("takes the trainer from an update that nobody wants any more", async () => {
    await abandoned({ TINY_STEP_MS: "0", TINY_FAULT: "hang" });
    const before = await pid();
    const other = await tiny.artifacts.put(encodeBatch(tiny.rows.slice(0, 2)), "batch");
    const { policy } = await (await tiny.trainer()).update(other, tiny.parent, SETTINGS, () => {});
    expect(policy.step).toBe(1);
    expect(await pid()).not.toBe(before);
  });

  it("is not fooled by a note of a process that was: another's number is no trainer", async () => {
    const trainer = await tiny.trainer();
    await update(trainer);
    const before = (await findProcess(tiny.sessionOf()))!;
    const { launch: file } = sessionFiles(tiny.sessionOf());
    const note = JSON.parse(readFileSync(file, "utf8"));
    for (const wrong of [
      { ...note, shell: { ...note.shell, started: 1 } },
      { ...note, shell: { ...note.shell, pid: process.pid } },
      { ...note, boot: "another" },
    ]) {
      writeFileSync(file, JSON.stringify(wrong));
      expect(await findProcess(tiny.sessionOf())).toBeNull();
    }
    writeFileSync(file, JSON.stringify({ ...note, token: "0".repeat(32) }));
    expect(await (await findProcess(tiny.sessionOf()))!.session()).toBeNull();
    writeFileSync(file, JSON.stringify(note));
    expect(before.running()).toBe(true);
  });
});

describe("a session", () => {
  it("serves update after update by one process", async () => {
    const trainer = await tiny.trainer();
    const { policy } = await update(trainer);
    const first = await pid();
    const next = await trainer.update(batch, policy, { ...SETTINGS, freshOptimizer: false }, () => {});
    expect(next.policy).toMatchObject({ step: 2, parent: policy.id });
    expect(await pid()).toBe(first);
    const manifest = await readManifest(tiny.artifacts, next.policy);
    expect(manifest.model.map(({ path }) => path)).toEqual([
      "config.json",
      "model.safetensors",
      "tokenizer.json",
    ]);
    expect(manifest.optimizer.map(({ path }) => path)).toEqual(["adam.json"]);
  });

  it("of other settings has a process of its own", async () => {
    const trainer = await tiny.trainer();
    await update(trainer);
    const first = await pid();
    await trainer.open!({ ...TINY_SESSION, packTokens: 2048 });
    await update(trainer);
    expect(await pid()).not.toBe(first);
    expect((await findProcess(tiny.sessionOf()))!.launch.command).toEqual(TINY_COMMAND);
  });

  it("whose own disk is full says so, before anything starts", async () => {
    const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    const trainer = createProcessTrainer({
      ...{ kind: "torch", command: TINY_COMMAND, folder: join(tiny.folder, "full") },
      artifacts: {
        ...tiny.artifacts,
        getFile: (ref, file) =>
          ref.kind === "batch" ? Promise.reject(full) : tiny.artifacts.getFile(ref, file),
      },
    });
    await trainer.open!(TINY_SESSION);
    await expect(update(trainer)).rejects.toMatchObject({ name: "TrainerError", kind: "disk" });
    expect(await findProcess(tiny.sessionOf("full"))).toBeNull();
  });

  it("reads every file of its parent by its hash: a missing one is told, and nothing starts", async () => {
    const manifest = await readManifest(tiny.artifacts, tiny.parent);
    rmSync(tiny.artifacts.path!(manifest.model[1]!.artifact));
    const trainer = await tiny.trainer();
    await expect(update(trainer)).rejects.toMatchObject({ name: "ArtifactError", kind: "missing" });
    expect(await findProcess(tiny.sessionOf())).toBeNull();
  });
});
