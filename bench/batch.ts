/** Batch files (Arrow, every rule checked on writing and reading) against raw files of the same arrays, nothing checked. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { random } from "../core/random.ts";
import { type BatchRow, type DecodedRow, decodeBatch, encodeBatch } from "../services/trainers/index.ts";
import { type BenchContext, type Measure, measure, temporaryFolder } from "./bench.ts";
import { interleaved, medians, timed } from "./repeat.ts";

const SEED = 1;
const GROUPS = 16;
const GROUP_SIZE = 8;
/** Mean length of a row. */
const TOKENS = 8192;
const ROUNDS = 15;
const WARM_UP_ROUNDS = 2;

interface Pass {
  readonly write: number;
  readonly read: number;
  readonly bytes: number;
  readonly rows: readonly DecodedRow[];
}

export async function run(context: BenchContext): Promise<readonly Measure[]> {
  const folder = await temporaryFolder(context);
  const rows = batchRows(SEED, GROUPS, GROUP_SIZE, TOKENS);
  const sides = {
    subject: () => throughArrow(join(folder, "batch.arrow"), rows),
    reference: () => throughRawFiles(join(folder, "raw"), rows),
  };
  const { subject: arrow, reference: raw } = await interleaved(WARM_UP_ROUNDS, sides);
  for (const pass of [arrow[0]!, raw[0]!])
    if (!sameRows(rows, pass.rows)) throw new Error("the rows read are not the rows written");
  const results = await interleaved(ROUNDS, sides);
  const milliseconds = (name: string, seconds: (pass: Pass) => number) => {
    const { subject, reference } = medians(results, (pass) => 1000 * seconds(pass));
    context.progress(`${name}: ${subject.toFixed(1)} ms, raw files ${reference.toFixed(1)} ms`);
    return measure({ name, value: subject, unit: "ms", reference, better: "lower", goal: null });
  };
  const bytes = medians(results, (pass) => pass.bytes / 1e6);
  return [
    milliseconds("write + read", ({ write, read }) => write + read),
    milliseconds("write", ({ write }) => write),
    milliseconds("read", ({ read }) => read),
    measure({
      name: "size",
      value: bytes.subject,
      unit: "MB",
      reference: bytes.reference,
      better: "lower",
      goal: null,
    }),
  ];
}

async function throughArrow(file: string, rows: readonly BatchRow[]): Promise<Pass> {
  const write = await timed(async () => {
    const bytes = encodeBatch(rows);
    await writeFile(file, bytes);
    return bytes.length;
  });
  const read = await timed(async () => decodeBatch(await readFile(file)));
  return { write: write.seconds, read: read.seconds, bytes: write.value, rows: read.value };
}

/** One file per column of numbers and one JSON file for the keys. */
export async function throughRawFiles(stem: string, rows: readonly BatchRow[]): Promise<Pass> {
  const write = await timed(async () => {
    const columns = columnsOf(rows);
    let bytes = 0;
    for (const [name, column] of Object.entries(columns)) {
      const content = Array.isArray(column)
        ? Buffer.from(JSON.stringify(column))
        : new Uint8Array(column.buffer);
      bytes += content.length;
      await writeFile(`${stem}.${name}`, content);
    }
    return bytes;
  });
  const read = await timed(() => readRawFiles(stem));
  return { write: write.seconds, read: read.seconds, bytes: write.value, rows: read.value };
}

function columnsOf(rows: readonly BatchRow[]) {
  const offsets = new Int32Array(rows.length + 1);
  for (const [row, { tokens }] of rows.entries()) offsets[row + 1] = offsets[row]! + tokens.length;
  const total = offsets[rows.length]!;
  const tokens = new Int32Array(total);
  const trainable = new Uint8Array(total);
  const logProbs = new Float64Array(total);
  for (const [row, values] of rows.entries()) {
    tokens.set(values.tokens, offsets[row]!);
    trainable.set(values.trainable, offsets[row]!);
    logProbs.set(values.logProbs, offsets[row]!);
  }
  return {
    keys: rows.map(({ group, rollout }) => [group, rollout]),
    advantage: Float64Array.from(rows, ({ advantage }) => advantage),
    reward: Float64Array.from(rows, ({ reward }) => reward),
    raw: Uint8Array.from(rows, ({ raw }) => raw),
    offsets,
    tokens,
    trainable,
    logProbs,
  };
}

async function readRawFiles(stem: string): Promise<DecodedRow[]> {
  const read = async (name: string) => {
    const { buffer, byteOffset, byteLength } = await readFile(`${stem}.${name}`);
    // A typed array needs an aligned start; small files lie somewhere in a shared pool.
    return byteOffset % 8 === 0
      ? { buffer, byteOffset, byteLength }
      : aligned(buffer, byteOffset, byteLength);
  };
  const doubles = async (name: string) => {
    const { buffer, byteOffset, byteLength } = await read(name);
    return new Float64Array(buffer, byteOffset, byteLength / 8);
  };
  const integers = async (name: string) => {
    const { buffer, byteOffset, byteLength } = await read(name);
    return new Int32Array(buffer, byteOffset, byteLength / 4);
  };
  const keys = JSON.parse(await readFile(`${stem}.keys`, "utf8")) as [group: string, rollout: string][];
  const advantage = await doubles("advantage");
  const reward = await doubles("reward");
  const raw = await readFile(`${stem}.raw`);
  const offsets = await integers("offsets");
  const tokens = await integers("tokens");
  const trainable = await readFile(`${stem}.trainable`);
  const logProbs = await doubles("logProbs");
  return keys.map(([group, rollout], row) => {
    const range = [offsets[row]!, offsets[row + 1]!] as const;
    return {
      group,
      rollout,
      advantage: advantage[row]!,
      reward: reward[row]!,
      raw: raw[row] as 0 | 1,
      tokens: tokens.subarray(...range),
      trainable: trainable.subarray(...range),
      logProbs: logProbs.subarray(...range),
    };
  });
}

function aligned(buffer: ArrayBufferLike, byteOffset: number, byteLength: number) {
  return { buffer: buffer.slice(byteOffset, byteOffset + byteLength), byteOffset: 0, byteLength };
}

export function sameRows(a: readonly BatchRow[], b: readonly BatchRow[]): boolean {
  const bytesOf = ({ tokens, trainable, logProbs, ...rest }: BatchRow) => [
    Buffer.from(JSON.stringify(rest, Object.keys(rest).sort())),
    Buffer.from(Int32Array.from(tokens).buffer),
    Buffer.from(Uint8Array.from(trainable).buffer),
    Buffer.from(Float64Array.from(logProbs).buffer),
  ];
  return (
    a.length === b.length &&
    a.every((row, i) => {
      const others = bytesOf(b[i]!);
      return bytesOf(row).every((bytes, part) => bytes.equals(others[part]!));
    })
  );
}

/** Rollouts of unequal length, a third of their tokens sampled; typed arrays, as the assembler hands them over. */
export function batchRows(seed: number, groups: number, size: number, tokens: number): BatchRow[] {
  const stream = random(seed, "bench", "batch");
  return Array.from({ length: groups * size }, (_, row) => {
    const length = 1 + stream.integer(2 * tokens - 1);
    const trainable = Uint8Array.from({ length }, () => (stream.next() < 1 / 3 ? 1 : 0));
    const group = `bench/it/1/try/1/climb/1/${Math.floor(row / size)}`;
    const raw = stream.integer(2) as 0 | 1;
    return {
      group,
      rollout: `${group}/${row % size}`,
      advantage: 2 * stream.next() - 1,
      reward: raw * stream.next(),
      raw,
      tokens: Int32Array.from({ length }, () => stream.integer(50_000)),
      trainable,
      logProbs: Float64Array.from({ length }, (_, i) => (trainable[i] === 1 ? -stream.next() : 0)),
    };
  });
}
