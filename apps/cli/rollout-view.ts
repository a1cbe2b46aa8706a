/** One rollout as the terminal shows it: turn by turn, with its verdict. */
import type { RolloutDetail } from "../../services/store/index.ts";
import { writeLine } from "./output.ts";

export function writeRollout({ row, trajectory, flags }: RolloutDetail): void {
  writeLine(`rollout ${row.key} · ${row.task_id} at level ${row.level} · ${row.policy}`);
  writeLine(
    `${row.exit} after ${row.turns} turns · ${row.outcome ?? "not graded yet"}${row.rule === null ? "" : ` (${row.rule})`} · reward ${row.reward ?? "–"}`,
  );
  if (flags !== null && flags.length > 0) writeLine(`flagged: ${flags.join(", ")}`);
  for (const message of trajectory.messages) {
    writeLine();
    writeLine(`[${message.role}] ${message.content ?? ""}`.trimEnd());
    if (message.role === "assistant")
      for (const call of message.toolCalls ?? []) writeLine(`→ ${call.name} ${call.arguments}`);
  }
}
