/** What each engine serves, as the worker beside it has proven it last. */
import type { EngineStatus } from "../../core/publication.ts";
import { type Db, listEngines } from "../../services/store/index.ts";

export interface ServedEngine {
  readonly url: string;
  readonly state: EngineStatus;
  /** What it was proven to serve, or is brought to; null = nothing. */
  readonly policy: string | null;
  /** ISO time. */
  readonly since: string;
  /** What it was asked to serve last. */
  readonly target: string;
  /** Of one that is out. */
  readonly why: string | null;
}

/** By URL; empty before the first publication. */
export async function listServed({ db }: { readonly db: Db }): Promise<{ engines: ServedEngine[] }> {
  const rows = await listEngines(db);
  return {
    engines: rows.map(({ url, state, policy, since, target, why }) => ({
      ...{ url, state, policy, since: since.toISOString(), target, why },
    })),
  };
}
