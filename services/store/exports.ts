/** What an experiment has to give to other programs: tasks it admitted, rollouts it accepted. */
import { StoreError } from "./errors.ts";
import { poolTasks } from "./pools.ts";
import type { RolloutRow } from "./rollouts.ts";
import type { Executor } from "./rows.ts";
import { latestTries } from "./summary.ts";

export interface AdmittedTask {
  readonly taskId: string;
  /** Level of the statement it was admitted with. */
  readonly level: number;
}

/** Tasks that the latest try of each iteration admitted, in that order, each once, with the first level it was admitted at. */
export async function admittedTasks(db: Executor, experiment: string): Promise<AdmittedTask[]> {
  const levels = new Map<string, number>();
  for (const row of await latestTries(db, experiment))
    for (const { id, level } of await poolTasks(db, row)) if (!levels.has(id)) levels.set(id, level);
  return [...levels].map(([taskId, level]) => ({ taskId, level }));
}

/** A rollout with what its group says of it; null while the group is not complete. */
export type ExperimentRollout = RolloutRow & {
  readonly iteration: number | null;
  readonly try: number | null;
  readonly phase: string | null;
};

const PAGE = 200;

/** Accepted rollouts whose groups belong to the experiment, by key. Throws StoreError `missing` where there is no such experiment. */
export async function* experimentRollouts(
  db: Executor,
  experiment: string,
): AsyncGenerator<ExperimentRollout, void, void> {
  const known = await db
    .selectFrom("experiments")
    .select("name")
    .where("name", "=", experiment)
    .executeTakeFirst();
  if (known === undefined) throw new StoreError("missing", `no experiment ${experiment} is recorded`);
  let after = "";
  for (;;) {
    const rows = await db
      .selectFrom("rollouts")
      .leftJoin("groups", "groups.key", "rollouts.group_key")
      .selectAll("rollouts")
      .select(["groups.iteration", "groups.try", "groups.phase"])
      .where((eb) =>
        eb.or([
          eb("groups.experiment", "=", experiment),
          eb.and([
            eb("groups.key", "is", null),
            eb("rollouts.group_key", "like", `${likeLiteral(experiment)}/%`),
          ]),
        ]),
      )
      .where("rollouts.key", ">", after)
      .orderBy("rollouts.key")
      .limit(PAGE)
      .execute();
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)!.key;
  }
}

const likeLiteral = (text: string): string => text.replace(/[\\%_]/g, "\\$&");
