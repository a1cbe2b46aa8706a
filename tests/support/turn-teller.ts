/** A policy that says the text of the very turn it is asked for, whoever asks and however often. */
import { random } from "../../core/random.ts";
import type { PolicyClient } from "../../services/policy/index.ts";
import { END_OF_TURN, encodeText } from "../../services/policy/nano/tokens.ts";

interface Slot {
  readonly group: { readonly seed: number; readonly randomKeys: readonly (string | number)[] };
  readonly member: number;
}

/** `before` is awaited before turn t is answered. */
export function turnTeller(
  { group, member }: Slot,
  script: readonly string[],
  before: (turn: number) => Promise<void> = async () => {},
): { readonly client: PolicyClient; readonly asked: number[] } {
  const turnOf = new Map(
    script.map((_, turn) => [random(group.seed, ...group.randomKeys, member, turn).seed32(), turn]),
  );
  const asked: number[] = [];
  const client: PolicyClient = {
    capabilities: () => Promise.reject(new Error("not asked for")),
    complete: async ({ seed, prompt, policy }) => {
      const turn = turnOf.get(seed);
      if (turn === undefined) throw new Error(`no turn has the seed ${seed}`);
      asked.push(turn);
      await before(turn);
      const text = script[turn]!;
      const tokens = [...encodeText(text), END_OF_TURN];
      return {
        text,
        tokens,
        logProbs: tokens.map(() => -prompt.length / 65536),
        finish: "stop",
        weightVersion: policy,
        usage: { promptTokens: prompt.length, completionTokens: tokens.length },
      };
    },
  };
  return { client, asked };
}
