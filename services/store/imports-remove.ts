/** Takes what was imported out of the record again: a task as it was read, or the task that was proven of it. */

import { StoreError } from "./errors.ts";
import { readNames } from "./gc-names.ts";
import { holdStarts } from "./gc-plan.ts";
import { patiently, removeShared } from "./gc-rows.ts";
import type { Node } from "./gc-select.ts";
import type { Executor } from "./rows.ts";

export type RemovedImport = "import" | "task";

/**
 * `key` is an import's, or the id of a task that was made of one. Whole or not at all; files that nothing names any more are `gc`'s. Throws StoreError
 * `missing`, and `conflict` for a task that an experiment or a set of tasks names, or that is no import's.
 */
export async function removeImport(db: Executor, key: string): Promise<RemovedImport> {
  return db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx.deleteFrom("imports").where("key", "=", key).executeTakeFirst();
    if (numDeletedRows > 0n) return "import";
    const task = await tx.selectFrom("tasks").select("generator").where("id", "=", key).executeTakeFirst();
    if (task === undefined) throw new StoreError("missing", `no import or task ${key} is recorded`);
    if (task.generator !== "import")
      throw new StoreError(
        "conflict",
        `task ${key} was made here, by ${task.generator}: tadpole gc removes such tasks with their experiments`,
      );
    await patiently(tx);
    // What names it is looked for in the whole record: no experiment begins meanwhile.
    await holdStarts(tx);
    const node: Node = `task/${key}`;
    const { edges } = await readNames(tx, 0);
    const users = [...edges].flatMap(([owner, named]) => (named.has(node) ? [owner.replace("/", " ")] : []));
    if (users.length > 0)
      throw new StoreError("conflict", `task ${key} is used by ${users.sort().join(", ")}`);
    await removeShared(tx, "task", [node]);
    return "task";
  });
}
