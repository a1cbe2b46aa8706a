/** Which experiments of the record name an environment. */
import { sql } from "kysely";
import type { Executor } from "./rows.ts";

/** Names of the experiments whose settings name it: to train on, to select by, to evaluate on. Sorted. */
export async function experimentsUsing(db: Executor, environment: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from experiments
    where jsonb_path_exists(settings::jsonb, '$.**.environments[*] ? (@ == $name)', jsonb_build_object('name', ${environment}::text))
      or jsonb_path_exists(settings::jsonb, '$.environments.train[*] ? (@ == $name)', jsonb_build_object('name', ${environment}::text))
    order by name`.execute(db);
  return rows.map(({ name }) => name);
}
