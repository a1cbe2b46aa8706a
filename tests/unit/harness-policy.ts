/** A policy that says given texts, one per turn, through the embedded template; and a rollout of it. */
import { type LedgerTurn, type RolloutRequest, runRollout } from "../../services/harness/index.ts";
import { createNanoTemplate } from "../../services/policy/nano/template.ts";
import { END_OF_TURN, encodeText } from "../../services/policy/nano/tokens.ts";
import { renderToolCall } from "../../services/policy/tool-calls.ts";
import type { Sandbox } from "../../services/sandbox/runtime.ts";

export const SAMPLING = { temperature: 1, topP: 1, topK: 0, minP: 0 };

export const sayCall = (name: string, args: unknown) =>
  renderToolCall({ name, arguments: JSON.stringify(args) });
export const bash = (command: string) => sayCall("Bash", { command });

export function memoryLedger() {
  const rows: LedgerTurn[] = [];
  return {
    rows,
    append: async (row: LedgerTurn) => void rows.push(row),
    complete: async (row: LedgerTurn) => {
      rows[row.record.turn] = row;
    },
  };
}

/** `seen` = the prompt as the server says it saw it. */
export function sayer(
  texts: readonly string[],
  options: { readonly seen?: (prompt: readonly number[]) => number[] } = {},
) {
  const prompts: (readonly number[])[] = [];
  const client: RolloutRequest["client"] = {
    capabilities: async () => Promise.reject(),
    complete: async ({ prompt, policy }) => {
      const text = texts[prompts.length] ?? "done";
      prompts.push(prompt);
      const tokens = [...encodeText(text), END_OF_TURN];
      return {
        text,
        tokens,
        logProbs: tokens.map((_, i) => -0.5 - i / 100),
        finish: "stop",
        weightVersion: policy,
        usage: { promptTokens: prompt.length, completionTokens: tokens.length },
        ...(options.seen ? { promptTokens: options.seen(prompt) } : {}),
      };
    },
  };
  return { prompts, client };
}

export async function rolloutOf(
  texts: readonly string[],
  sandbox: Sandbox,
  more: Partial<RolloutRequest> = {},
) {
  const { prompts, client } = sayer(texts);
  const ledger = memoryLedger();
  const outcome = await runRollout({
    statement: "fix it",
    policy: "nano-1",
    limits: { maxContextTokens: 100_000, maxTurns: 20, maxTokensPerTurn: 5000, maxSeconds: null },
    sampling: SAMPLING,
    turnSeed: (turn) => turn,
    sandbox,
    client,
    template: createNanoTemplate(),
    ledger,
    ...more,
  });
  return { ...outcome, rows: ledger.rows, prompts };
}
