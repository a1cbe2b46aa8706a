/** What engines serve, as whoever publishes weights to them has proven it; and that only one publication at a time is given to an engine. */
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { ExperimentSettings } from "../../core/experiment.ts";
import type { EngineStatus } from "../../core/publication.ts";
import type { Db } from "./database.ts";
import type { Executor } from "./rows.ts";

export interface EngineRow {
  readonly url: string;
  readonly policy: string | null;
  readonly state: EngineStatus;
  readonly why: string | null;
  readonly since: Date;
  readonly target: string;
  readonly asked: number;
  readonly good: string | null;
  readonly keeper: string;
  readonly server: ExperimentSettings["policy"];
}

/** Without `urls`: of all engines, by URL. */
export async function listEngines(db: Executor, urls?: readonly string[]): Promise<EngineRow[]> {
  let query = db.selectFrom("engine_versions").selectAll().orderBy("url");
  if (urls !== undefined) query = query.where("url", "in", [...urls]);
  return (await query.execute()) as EngineRow[];
}

/** Notes what the engines are asked to serve from now on. Returns the number of the request, which `isNewest` tells from later ones. */
export async function askPublication(
  db: Db,
  input: {
    readonly urls: readonly string[];
    readonly target: string;
    readonly keeper: string;
    readonly server: ExperimentSettings["policy"];
  },
): Promise<number> {
  const { target, keeper } = input;
  const server = JSON.stringify(input.server);
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ asked: number }>`select nextval('publications') as asked`.execute(tx);
    const { asked } = rows[0]!;
    // In one order, so that two requests do not wait for each other.
    for (const url of [...input.urls].sort())
      await sql`
        insert into engine_versions (url, policy, state, why, target, asked, good, keeper, server)
        values (${url}, null, 'out', 'nothing was published to it yet', ${target}, ${asked}, null, ${keeper}, ${server})
        on conflict (url) do update set target = excluded.target, asked = excluded.asked, keeper = excluded.keeper,
          server = excluded.server
        where engine_versions.asked < excluded.asked`.execute(tx);
    return asked;
  });
}

/** `since` is kept while state and policy stay what they are. */
export async function recordEngine(
  db: Executor,
  { url, policy, state, why }: Pick<EngineRow, "url" | "policy" | "state" | "why">,
): Promise<void> {
  await sql`
    update engine_versions set policy = ${policy}, state = ${state}, why = ${why},
      since = case when policy is not distinct from ${policy} and state = ${state} then since else now() end
    where url = ${url}`.execute(db);
}

/** After a publication: what its engines serve for good, and go back to where the next one fails. */
export async function recordGood(db: Executor, urls: readonly string[], good: string): Promise<void> {
  await db
    .updateTable("engine_versions")
    .set({ good, target: good } as never)
    .where("url", "in", [...urls])
    .execute();
}

/** Key of the advisory locks: any constant, the same in every version. */
const LOCK = 7_238_652;
const POLL_MS = 200;

/** `wait: false`: returns undefined at once where another publication has one of the engines. */
export async function withEngines<T>(
  db: Db,
  urls: readonly string[],
  { wait, signal }: { readonly wait: boolean; readonly signal?: AbortSignal | undefined },
  work: () => Promise<T>,
): Promise<T | undefined> {
  // A connection of its own, since the locks are the connection's: they go when the process dies.
  return db.connection().execute(async (connection) => {
    const held: string[] = [];
    const take = async (url: string): Promise<boolean> => {
      const { rows } = await sql<{
        taken: boolean;
      }>`select pg_try_advisory_lock(${LOCK}::integer, hashtext(${url})) as taken`.execute(connection);
      if (rows[0]!.taken) held.push(url);
      return rows[0]!.taken;
    };
    try {
      for (const url of [...new Set(urls)].sort())
        while (!(await take(url))) {
          if (!wait) return undefined;
          await sleep(POLL_MS, undefined, signal ? { signal } : {});
        }
      return await work();
    } finally {
      for (const url of held)
        await sql`select pg_advisory_unlock(${LOCK}::integer, hashtext(${url}))`.execute(connection);
    }
  });
}
