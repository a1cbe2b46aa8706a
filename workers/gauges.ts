/** What the orchestrator looks up now and then for its metrics: the state of experiments, the record, the disk. */
import { statfs } from "node:fs/promises";
import type { MetricMeter } from "@temporalio/common";
import { countExperimentStates, type Db, EXPERIMENT_STATES } from "../services/store/index.ts";

/** Below the usual scrape interval. */
const EVERY_MS = 10_000;

/** Sets the gauges at once and every ten seconds, until the returned function is called. */
export function startGauges(
  meter: MetricMeter,
  db: Db,
  dataFolder: string,
  build: string,
): () => Promise<void> {
  const experiments = meter.createGauge("tadpole_experiments", "int", undefined, "Experiments, by state");
  const record = meter.createGauge("tadpole_record_up", "int", undefined, "1 while the database answers");
  const disk = meter.createGauge(
    "tadpole_disk_free_bytes",
    "int",
    undefined,
    "Free space of the data folder",
  );
  meter
    .createGauge("tadpole_build_info", "int", undefined, "1; the build of the workflows in its label")
    .set(1, { build });
  const look = async () => {
    try {
      const counts = await countExperimentStates(db);
      for (const state of EXPERIMENT_STATES) experiments.set(counts[state], { state });
      record.set(1);
    } catch {
      record.set(0);
    }
    const { bavail, bsize } = await statfs(dataFolder);
    disk.set(bavail * bsize);
  };
  let looking = look().catch(console.error);
  const timer = setInterval(() => {
    looking = looking.then(look).catch(console.error);
  }, EVERY_MS);
  return async () => {
    clearInterval(timer);
    await looking;
  };
}
