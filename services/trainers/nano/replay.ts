/**
 * Scores a batch's rows under the policy being trained. The candidates of each sampled token are rebuilt from the row's token
 * ids alone; rows of a group begin alike, so what one row has scored is re-used by the next as far as their tokens agree.
 */
import type { Conversation } from "../../policy/index.ts";
import type { DecodedRow } from "../batch.ts";
import { TrainerError } from "../errors.ts";
import { scoreToken, type TokenScore } from "./softmax.ts";

export interface ScoredToken extends TokenScore {
  /** log q as recorded at sampling time, nats. */
  readonly rolloutLogProb: number;
}

/** The conversation before a turn of the policy. */
interface Snapshot {
  readonly position: number;
  readonly conversation: Conversation;
}

interface Trace {
  readonly tokens: Int32Array;
  readonly scores: ReadonlyMap<number, TokenScore>;
  readonly snapshots: readonly Snapshot[];
}

/**
 * A function that gives the scores of a row's trainable tokens, in order. `weights`: [SLOTS]. Only the row before is
 * remembered, so rows should come group by group.
 */
export function createReplay(
  openConversation: () => Conversation,
  weights: Float64Array,
): (row: DecodedRow) => ScoredToken[] {
  const scratch = new Float64Array(weights.length);
  let previous: Trace = { tokens: new Int32Array(0), scores: new Map(), snapshots: [] };

  return (row) => {
    const shared = commonPrefix(previous.tokens, row.tokens);
    const snapshots = previous.snapshots.filter(({ position }) => position <= shared);
    const start = snapshots.at(-1);
    const conversation = start?.conversation.clone() ?? openConversation();
    const scores = new Map<number, TokenScore>();
    const scored: ScoredToken[] = [];
    for (let i = 0; i < row.tokens.length; i++) {
      const replayed = start === undefined || i >= start.position;
      if (row.trainable[i] === 1) {
        const opensTurn = i === 0 || row.trainable[i - 1] === 0;
        if (opensTurn && replayed && i !== start?.position)
          snapshots.push({ position: i, conversation: conversation.clone() });
        const known = i < shared ? previous.scores.get(i) : undefined;
        const score = known ?? scoreAt(row, i, conversation, weights, scratch);
        scores.set(i, score);
        scored.push({ ...score, rolloutLogProb: row.logProbs[i]! });
      }
      if (replayed) conversation.append(row.tokens[i]!);
    }
    previous = { tokens: row.tokens, scores, snapshots };
    return scored;
  };
}

function scoreAt(
  row: DecodedRow,
  i: number,
  conversation: Conversation,
  weights: Float64Array,
  scratch: Float64Array,
): TokenScore {
  const token = row.tokens[i]!;
  const candidates = conversation.next();
  const chosen = candidates?.tokens.indexOf(token) ?? -1;
  if (candidates === null || chosen === -1)
    throw new TrainerError(
      "batch",
      `${row.rollout}: token ${i} (id ${token}) is marked trainable, but the policy could not have sampled it there`,
    );
  return scoreToken(candidates, chosen, weights, scratch);
}

function commonPrefix(a: Int32Array, b: Int32Array): number {
  const end = Math.min(a.length, b.length);
  let length = 0;
  while (length < end && a[length] === b[length]) length++;
  return length;
}
