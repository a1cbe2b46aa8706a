/** Prepared environments of one sandbox host, kept in memory once loaded, until they turn out to be no longer what they were. */
import type { EnvironmentAccess } from "../activities/index.ts";
import {
  type Catalogue,
  EnvironmentError,
  loadEntries,
  loadEnvironment,
  type PreparedEnvironment,
  prepareEnvironment,
  proveBaseline,
  type RunTests,
} from "../services/environments/index.ts";

/** Files are compared at every check; tests that passed this lately are not run again. */
const PROOF_MS = 30_000;

export interface EnvironmentAccessOptions {
  readonly dataFolder: string;
  /** What can be prepared. Default: the bundled catalogue and what `dataFolder` has beside it. */
  readonly entries?: () => Promise<Catalogue>;
  readonly runTests: RunTests;
  readonly log: (line: string) => void;
  /** Drops everything else that is kept of an environment: it is no longer what it was. */
  readonly forget: (key: string) => Promise<void>;
}

export function environmentAccess({
  dataFolder,
  entries = () => loadEntries(dataFolder),
  runTests,
  log,
  forget,
}: EnvironmentAccessOptions): EnvironmentAccess {
  const byKey = new Map<string, Promise<PreparedEnvironment>>();
  const preparing = new Map<string, Promise<PreparedEnvironment>>();
  const proving = new Map<string, Promise<void>>();

  async function prove(environment: PreparedEnvironment): Promise<void> {
    await proveBaseline(environment, runTests);
    setTimeout(() => proving.delete(environment.key), PROOF_MS).unref();
  }

  async function drop(key: string): Promise<void> {
    byKey.delete(key);
    for (const [wanted, prepared] of preparing) {
      const environment = await prepared.catch(() => null);
      if (environment?.key === key) preparing.delete(wanted);
    }
    await forget(key);
  }

  async function isWhole(key: string): Promise<boolean> {
    try {
      await loadEnvironment(dataFolder, key);
      return true;
    } catch (error) {
      if (!(error instanceof EnvironmentError)) throw error;
      await drop(key);
      return false;
    }
  }

  return {
    prepare: async (name, repeats, signal) => {
      // A baseline of more runs is another preparation.
      const wanted = `${name} ${repeats}`;
      const known = await preparing.get(wanted);
      if (known !== undefined && (await isWhole(known.key))) return known;
      const prepared = entries().then((catalogue) =>
        prepareEnvironment({ name, catalogue, dataFolder, runTests, repeats, signal, log }),
      );
      preparing.set(wanted, prepared);
      prepared.then(
        (environment) => byKey.set(environment.key, prepared),
        () => preparing.delete(wanted),
      );
      return prepared;
    },
    byKey: (key) => {
      const known = byKey.get(key);
      if (known !== undefined) return known;
      const loaded = loadEnvironment(dataFolder, key);
      byKey.set(key, loaded);
      loaded.catch(() => byKey.delete(key));
      return loaded;
    },
    check: async (key) => {
      try {
        const environment = await loadEnvironment(dataFolder, key);
        const proof = proving.get(key) ?? prove(environment);
        proving.set(key, proof);
        proof.catch(() => proving.delete(key));
        await proof;
      } catch (error) {
        if (error instanceof EnvironmentError) await drop(key);
        throw error;
      }
    },
  };
}
