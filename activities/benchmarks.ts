/** Benchmarks that tasks must have nothing in common with, as the settings of an experiment pin them: `artifact:<sha256>` each. */
import { getJson } from "../services/store/index.ts";
import { type Benchmark, type BenchmarkFile, openBenchmark } from "../services/synthesis/index.ts";
import type { RecordServices } from "./services.ts";

/** Of the few that one experiment names; a benchmark is some megabytes. */
const MAX_OPEN = 8;
const open = new Map<string, Promise<Benchmark>>();

export function benchmarksOf(
  services: Pick<RecordServices, "artifacts">,
  pinned: readonly string[],
): Promise<readonly Benchmark[]> {
  return Promise.all(
    pinned.map((uri) => {
      const known = open.get(uri) ?? read(services, uri);
      open.delete(uri);
      open.set(uri, known);
      known.catch(() => open.delete(uri));
      if (open.size > MAX_OPEN) open.delete(open.keys().next().value!);
      return known;
    }),
  );
}

async function read({ artifacts }: Pick<RecordServices, "artifacts">, uri: string): Promise<Benchmark> {
  const sha256 = uri.slice("artifact:".length);
  return openBenchmark(await getJson<BenchmarkFile>(artifacts, { uri, sha256, bytes: 0, kind: "keys" }));
}
