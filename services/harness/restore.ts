/** Whether a sandbox is where a ledger says it should be, and how a new one gets there. */
import type { Sandbox } from "../sandbox/runtime.ts";
import { type CallSettings, CHANGES_TREE, runCalls, toolContext } from "./calls.ts";
import { isScratchEmpty, watchTree } from "./tree.ts";
import type { LedgerTurn } from "./types.ts";

/** sha256 of the tree after the row's calls, or before them where they are not answered. */
const treeAt = (row: LedgerTurn): string => row.record.treeHash ?? row.reply.treeBefore;

/**
 * True when the rollout can go on in this sandbox: its tree is the recorded one. The calls of an unanswered turn may have run in
 * part: an empty folder or a file in /tmp that they left would be seen by their repetition, so then there must be none.
 */
export async function isWhereLeft(sandbox: Sandbox, rows: readonly LedgerTurn[]): Promise<boolean> {
  const last = rows.at(-1);
  const tree = watchTree(sandbox);
  if (last === undefined || (await tree.hash()) !== treeAt(last)) return false;
  if (last.answered) return true;
  return (await tree.names()) === last.reply.namesBefore && (await isScratchEmpty(sandbox));
}

/** Makes the recorded calls again in a new sandbox. Null when every result and tree came out as recorded, else what did not. */
export async function replayCalls(
  settings: CallSettings,
  rows: readonly LedgerTurn[],
): Promise<string | null> {
  const tree = watchTree(settings.sandbox);
  const context = toolContext(settings, tree);
  const first = rows[0];
  if (first !== undefined && (await tree.hash()) !== first.reply.treeBefore)
    return "the sandbox began with another tree";
  for (const row of rows) {
    if (!row.answered || row.record.results.length === 0) continue;
    const { turn, toolCalls, results } = row.record;
    for (const [i, call] of toolCalls.entries()) {
      if (!CHANGES_TREE.has(call.name)) continue;
      const [again] = await runCalls(context, [call], tree);
      settings.signal?.throwIfAborted();
      if (again !== results[i]) return `turn ${turn}: call ${i + 1} (${call.name}) gave another result`;
    }
    if ((await tree.hash()) !== treeAt(row)) return `turn ${turn}: the tree after its calls differs`;
  }
  return null;
}
