/** Prepared environments of one sandbox host, kept in memory once loaded. */
import type { EnvironmentAccess } from "../activities/index.ts";
import {
  loadEnvironment,
  type PreparedEnvironment,
  prepareEnvironment,
  type RunTests,
} from "../services/environments/index.ts";

export function environmentAccess(
  dataFolder: string,
  runTests: RunTests,
  log: (line: string) => void,
): EnvironmentAccess {
  const byKey = new Map<string, Promise<PreparedEnvironment>>();
  const preparing = new Map<string, Promise<PreparedEnvironment>>();
  return {
    prepare: (name, repeats, signal) => {
      // A baseline of more runs is another preparation.
      const wanted = `${name} ${repeats}`;
      const known = preparing.get(wanted);
      if (known !== undefined) return known;
      const prepared = prepareEnvironment({ name, dataFolder, runTests, repeats, signal, log });
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
  };
}
