/**
 * Completions of the embedded policy. A reply depends on the prompt, the weights, the sampling parameters and the seed, on nothing else: not on
 * the load, the order of requests or what the prefix cache holds.
 */
import { random } from "../../../core/random.ts";
import type { Sampling } from "../../../core/trajectory.ts";
import type { Candidates } from "./hashing.ts";
import { drawToken, scoreCandidates } from "./sampling.ts";
import { END_OF_TURN } from "./tokens.ts";

/** What the engine needs of a conversation: tokens in, candidates out. */
export interface EngineConversation {
  append(token: number): void;
  next(): Candidates | null;
  clone(): EngineConversation;
  render(): string;
}

export interface EngineRequest {
  readonly prompt: Int32Array;
  readonly maxTokens: number;
  readonly sampling: Sampling;
  /** Unsigned 32-bit. */
  readonly seed: number;
  /** [slots] */
  readonly weights: Float64Array;
}

export interface EngineReply {
  readonly tokens: readonly number[];
  /** Nats, under the distribution sampled from; same length as `tokens`. */
  readonly logProbs: readonly number[];
  readonly text: string;
  readonly finish: "stop" | "length";
}

export interface Engine {
  complete(request: EngineRequest): EngineReply;
}

interface Entry {
  readonly tokens: Int32Array;
  readonly conversation: EngineConversation;
}

function bytesOf(tokens: Int32Array, length = tokens.length): Uint8Array {
  return new Uint8Array(tokens.buffer, tokens.byteOffset, length * Int32Array.BYTES_PER_ELEMENT);
}

/** Conversations by the tokens that made them, the least recently used going first. */
class PrefixCache {
  readonly #entries = new Set<Entry>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The longest one that the prompt begins with. */
  find(prompt: Int32Array): Entry | null {
    let best: Entry | null = null;
    for (const entry of this.#entries) {
      const { length } = entry.tokens;
      if (length > prompt.length || length <= (best?.tokens.length ?? 0)) continue;
      if (Buffer.compare(bytesOf(entry.tokens), bytesOf(prompt, length)) === 0) best = entry;
    }
    if (best) {
      this.#entries.delete(best);
      this.#entries.add(best);
    }
    return best;
  }

  add(entry: Entry): void {
    this.#entries.add(entry);
    for (const oldest of this.#entries) {
      if (this.#entries.size <= this.#limit) break;
      this.#entries.delete(oldest);
    }
  }
}

/** `cachedPrefixes` 0 = no cache. */
export function createEngine(open: () => EngineConversation, cachedPrefixes: number): Engine {
  const cache = new PrefixCache(cachedPrefixes);

  /** The conversation at the end of the prompt; the caller's own. */
  const atPrompt = (prompt: Int32Array): EngineConversation => {
    const known = cache.find(prompt);
    if (known?.tokens.length === prompt.length) return known.conversation.clone();
    const conversation = known?.conversation.clone() ?? open();
    for (let i = known?.tokens.length ?? 0; i < prompt.length; i++) conversation.append(prompt[i]!);
    // The other members of a group begin with the same prompt.
    if (cachedPrefixes > 0) cache.add({ tokens: prompt, conversation: conversation.clone() });
    return conversation;
  };

  return {
    complete: ({ prompt, maxTokens, sampling, seed, weights }) => {
      const conversation = atPrompt(prompt);
      const tokens: number[] = [];
      const logProbs: number[] = [];
      let finish: EngineReply["finish"] = "length";
      while (tokens.length < maxTokens) {
        const candidates = conversation.next();
        if (candidates === null) {
          finish = "stop";
          break;
        }
        const scores = scoreCandidates(candidates, weights);
        const uniform = random(seed, "token", tokens.length).next();
        const { index, logProb } = drawToken(scores, candidates.tokens, sampling, uniform);
        const token = candidates.tokens[index]!;
        conversation.append(token);
        tokens.push(token);
        logProbs.push(logProb);
        if (token === END_OF_TURN) {
          finish = "stop";
          break;
        }
      }
      const text = tokens.length > 0 ? conversation.render() : "";
      if (cachedPrefixes > 0 && finish === "stop") {
        const all = new Int32Array(prompt.length + tokens.length);
        all.set(prompt);
        all.set(tokens, prompt.length);
        cache.add({ tokens: all, conversation });
      }
      return { tokens, logProbs, text, finish };
    },
  };
}
