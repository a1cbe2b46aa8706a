/**
 * Publication of policies to engines, by the worker beside them: the checkpoint's files first, then the engines one share after another, and
 * the record of what each serves. A keeper brings engines that were restarted back to what they were asked for.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import type { ExperimentSettings } from "../../core/experiment.ts";
import { isEngineKind, type PolicyRef } from "../../core/policy.ts";
import type { Publication } from "../../core/publication.ts";
import { materialise, removeFolders } from "../checkpoints/index.ts";
import {
  CheckpointError,
  createDriver,
  type DriverLimits,
  type EngineDriver,
  PolicyError,
} from "../policy/index.ts";
import {
  type ArtifactStore,
  askPublication,
  type Db,
  type EngineRow,
  getPolicy,
  listEngines,
  recordEngine,
  recordGood,
  withEngines,
} from "../store/index.ts";
import { type Keeper, startKeeper } from "./keeper.ts";
import { type RunOutput, runPublication } from "./run.ts";

export type { Keeper } from "./keeper.ts";

type Server = ExperimentSettings["policy"];

export interface PublisherOptions {
  readonly db: Db;
  readonly artifacts: ArtifactStore;
  readonly dataFolder: string;
  readonly limits?: Partial<DriverLimits>;
}

export interface Publisher {
  /**
   * Returns once at least one engine proves that it serves the policy, and every other one does too or is out of service. Where all do so already,
   * that is one question to each. Throws PolicyError `capability` for engines without the routes, CheckpointError `not-finite` for weights that are
   * bad, PolicyError `aborted` where a newer publication was asked for meanwhile, `unreachable` otherwise; TrainerError and ArtifactError of
   * `materialise` before any engine is touched. The last good policy is served then, wherever an engine can serve it.
   */
  publish(policy: PolicyRef, server: Server, signal?: AbortSignal): Promise<void>;
  /** Looks after engines until it is closed. */
  keep(everySeconds: number): Keeper;
  /** One look: engines in service that serve something else are put out, and those that are out are brought back. */
  tend(): Promise<void>;
}

/** Folders that no engine needs are kept so many more: of a validation's policy, or the one before. They share what did not change. */
const RECENT = 2;

export function createPublisher({ db, artifacts, dataFolder, limits }: PublisherOptions): Publisher {
  const self = `${hostname()}:${dataFolder}`;
  const weightsFolder = (server: Server) => server.engines!.weightsFolder ?? join(dataFolder, "checkpoints");
  const driversOf = (server: Server): EngineDriver[] => {
    const { kind, engines, apiKeyEnv } = server;
    if (!isEngineKind(kind) || engines === null)
      throw new PolicyError("capability", `policy.kind ${kind}: expected vllm or sglang with policy.engines`);
    const { onPublish, urls } = engines;
    const given = { apiKeyEnv, onPublish, ...(limits ? { limits } : {}) };
    return urls.map((url) => createDriver(kind, { url, ...given }));
  };

  /** To be called while the engines are held. */
  const run = async (policy: PolicyRef, server: Server, signal?: AbortSignal): Promise<RunOutput> => {
    const { urls, pausedShare } = server.engines!;
    const folder = weightsFolder(server);
    await materialise(artifacts, policy, folder);
    const rows = await listEngines(db, urls);
    const output = await runPublication({
      target: policy.id,
      lastGood: rows.find(({ good }) => good !== null)?.good ?? null,
      pausedShare,
      drivers: driversOf(server),
      proven: provenBy(rows),
      folderOf: async (version) =>
        materialise(artifacts, version === policy.id ? policy : await getPolicy(db, version), folder),
      onChange: recorder(db, rows),
      signal,
    });
    const served = servedBy(output, policy.id);
    if (served !== null) await recordGood(db, urls, served);
    await removeFolders(folder, await neededBy(output), RECENT);
    return output;
  };

  /** Engines of other experiments may share the folder. */
  const neededBy = async ({ needed }: RunOutput): Promise<Set<string>> => {
    const all = await listEngines(db);
    const named = all.flatMap(({ policy, target, good }) => [policy, target, good]);
    return new Set([...needed, ...named.filter((id) => id !== null)]);
  };

  /** One question to each engine in service; those that are out are the keeper's, as long as they are asked for the same. */
  const isServed = async (policy: PolicyRef, server: Server): Promise<boolean> => {
    const { urls } = server.engines!;
    const rows = await listEngines(db, urls);
    if (rows.length < urls.length || rows.some(({ target }) => target !== policy.id)) return false;
    if (rows.some(({ state, keeper }) => state === "paused" || keeper !== self)) return false;
    const serving = rows.filter((row) => row.state === "serving" && row.policy === policy.id);
    if (serving.length === 0 || serving.length < rows.filter(({ state }) => state === "serving").length)
      return false;
    const drivers = driversOf(server).filter(({ url }) => serving.some((row) => row.url === url));
    const said = await Promise.all(drivers.map((driver) => driver.version().catch(() => null)));
    return said.every((version) => version === policy.id);
  };

  const publish: Publisher["publish"] = async (policy, server, signal) => {
    const drivers = driversOf(server);
    if (await isServed(policy, server)) return;
    const urls = drivers.map(({ url }) => url);
    const asked = await askPublication(db, { urls, target: policy.id, keeper: self, server });
    await withEngines(db, urls, { wait: true, signal }, async () => {
      const newer = (await listEngines(db, urls)).find((row) => row.asked > asked);
      if (newer !== undefined)
        throw new PolicyError(
          "aborted",
          `${policy.id} is not published: ${newer.url} was asked for ${newer.target} meanwhile`,
        );
      const output = await run(policy, server, signal);
      if (output.outcome !== "served") throw failureOf(policy, output);
    });
  };

  const tend = async (): Promise<void> => {
    const mine = (await listEngines(db)).filter(({ keeper }) => keeper === self);
    const fleets = new Map(mine.map((row) => [row.server.engines!.urls.join(" "), row]));
    for (const { server, target, asked } of fleets.values()) {
      const { urls } = server.engines!;
      await withEngines(db, urls, { wait: false }, async () => {
        const rows = await listEngines(db, urls);
        if (rows.some((row) => row.asked !== asked)) return;
        const wrong = await Promise.all(
          driversOf(server).map(async (driver) => {
            const row = rows.find(({ url }) => url === driver.url)!;
            const said = await driver.version().catch(() => undefined);
            // One that cannot be reached is left alone until it can be: clients find out for themselves.
            if (said === undefined || (row.state === "serving" && row.policy === said)) return false;
            const why = `it serves ${said}: expected ${row.policy}`;
            if (row.state === "serving")
              await recordEngine(db, { url: row.url, policy: null, state: "out", why });
            return true;
          }),
        );
        if (wrong.includes(true)) await run(await getPolicy(db, target), server);
      });
    }
  };

  return { publish, tend, keep: (everySeconds) => startKeeper(tend, everySeconds) };
}

/** Of engines in service alone. */
function provenBy(rows: readonly EngineRow[]): Map<string, string> {
  return new Map(
    rows.flatMap(({ url, state, policy }) => (state === "serving" && policy !== null ? [[url, policy]] : [])),
  );
}

/** Writes what changed. An engine that was not begun with is out of service, too. */
function recorder(db: Db, rows: readonly EngineRow[]): (publication: Publication) => Promise<void> {
  const written = new Map(
    rows.map(({ url, policy, state, why }) => [url, JSON.stringify([policy, state, why])]),
  );
  return async ({ engines }) => {
    for (const { url, version, status, why } of engines) {
      const row =
        status === "idle"
          ? ({ url, policy: null, state: "out", why: why ?? "it waits for its weights" } as const)
          : { url, policy: version, state: status, why };
      const text = JSON.stringify([row.policy, row.state, row.why]);
      if (written.get(url) === text) continue;
      await recordEngine(db, row);
      written.set(url, text);
    }
  };
}

/** What engines are asked for from now on; null = nobody serves anything. */
function servedBy({ outcome, publication }: RunOutput, target: string): string | null {
  if (outcome === "lost") return null;
  return outcome === "served" ? target : publication.lastGood;
}

function failureOf({ id }: PolicyRef, { outcome, publication, failures, badWeights }: RunOutput): Error {
  const now =
    outcome === "rolled-back"
      ? `the engines serve ${publication.lastGood} again`
      : "no engine serves anything; restart them, and it is tried again";
  const said = [...new Set(failures.map(({ message }) => message))].join("; ");
  const cause = { cause: failures[0] };
  if (badWeights)
    return new CheckpointError(
      "not-finite",
      `${id} gives no finite log-probabilities (${now}): ${said}`,
      cause,
    );
  const unable = failures.every((error) => error instanceof PolicyError && error.kind === "capability");
  return new PolicyError(
    unable && failures.length > 0 ? "capability" : "unreachable",
    `no engine serves ${id}; ${now}: ${said}`,
    cause,
  );
}
