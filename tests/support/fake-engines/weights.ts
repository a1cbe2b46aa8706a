/** What a fake engine has loaded, and what it would sample with it: tokens follow from weights, prompt, sampling and seed alone. */
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { random } from "../../../core/random.ts";
import type { Sampling } from "../../../core/trajectory.ts";

/** By tensor; here one per file of weights. */
export type Checksums = Readonly<Record<string, string>>;

const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest("hex");

export const BASE_WEIGHTS: Checksums = { "model.safetensors": sha256("base weights") };

/** Throws where the folder is not there or holds no weights. */
export async function loadWeights(folder: string): Promise<Checksums> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".safetensors")).sort();
  if (names.length === 0) throw new Error(`${folder}: no *.safetensors`);
  const sums = await Promise.all(
    names.map(async (name) => [name, sha256(await readFile(join(folder, name)))]),
  );
  return Object.fromEntries(sums);
}

export interface TurnRequest {
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly sampling: Sampling;
  readonly seed: number;
  readonly weights: Checksums;
}

export interface SampledTurn {
  readonly tokens: readonly number[];
  readonly logProbs: readonly number[];
  readonly finish: "stop" | "length";
}

export const END_TOKEN = 2;
const VOCABULARY = 256;

/** A few tokens and the end of the turn. */
export function sampleTurn({ prompt, maxTokens, sampling, seed, weights }: TurnRequest): SampledTurn {
  const greedy = sampling.temperature === 0;
  const stream = random(greedy ? 0 : seed, JSON.stringify(weights), sha256(JSON.stringify(prompt)));
  const length = 3 + Math.floor(stream.next() * 12);
  const drawn = Array.from({ length }, () => 3 + Math.floor(stream.next() * (VOCABULARY - 3)));
  return endedTurn([...drawn, END_TOKEN], maxTokens, () => -stream.next() * 3);
}

/** The tokens up to the bound, each with a log-probability. */
export function endedTurn(
  tokens: readonly number[],
  maxTokens: number,
  logProb: (index: number) => number = (i) => -0.5 - i / 100,
): SampledTurn {
  const kept = tokens.slice(0, maxTokens);
  return {
    tokens: kept,
    logProbs: kept.map((_, i) => logProb(i)),
    finish: kept.length < tokens.length ? "length" : "stop",
  };
}
