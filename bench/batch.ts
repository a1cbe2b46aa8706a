/**
 * Batch files (Arrow, every rule checked on writing and reading) against raw files of the same arrays, nothing checked, and against torch.save and
 * torch.load of the same rows, where torch is installed.
 */
import { execFile } from "node:child_process";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { MEMORY_FLAGS } from "../infra/stack/processes.ts";
import { writeParts } from "../services/store/artifact-files.ts";
import { type BatchRow, batchParts, type DecodedRow, decodeBatch } from "../services/trainers/index.ts";
import { batchRows } from "./batch-rows.ts";
import { type BenchContext, type Measure, measure, temporaryFolder } from "./bench.ts";
import { torchPython, torchRounds } from "./peers/torch.ts";
import { inTurns, median, timed } from "./repeat.ts";

const SEED = 1;
/** A batch of the paper: 32 groups of 8. */
const GROUPS = 32;
const GROUP_SIZE = 8;
/** Mean length of a row. */
const TOKENS = 20_000;
const ROUNDS = 9;
const WARM_UP_ROUNDS = 1;

interface Times {
  /** Seconds. */
  readonly write: number;
  readonly read: number;
  readonly bytes: number;
}

interface Pass extends Times {
  readonly rows: readonly DecodedRow[];
}

export async function run(context: BenchContext): Promise<readonly Measure[]> {
  const folder = await temporaryFolder(context);
  const rows = batchRows(SEED, GROUPS, GROUP_SIZE, TOKENS);
  const arrow = () => throughArrow(join(folder, "batch.arrow"), rows);
  const raw = () => throughRawFiles(join(folder, "raw"), rows);
  for (const pass of [await arrow(), await raw()])
    if (!sameRows(rows, pass.rows)) throw new Error("the rows read are not the rows written");
  const times = async (pass: () => Promise<Pass>): Promise<Times> => {
    const { write, read, bytes } = await pass();
    return { write, read, bytes };
  };
  const python = torchPython();
  if (python === null)
    context.progress(
      "torch is not installed (npm run gpu-path:install): batches are not compared with torch.save",
    );
  const saver = (form: "tensors" | "lists") =>
    python === null ? null : torchRounds(context, python, join(folder, "raw"), form);
  const [tensors, lists] = [await saver("tensors"), await saver("lists")];
  const sides = {
    arrow: () => times(arrow),
    raw: () => times(raw),
    ...(tensors && lists ? { tensors, lists } : {}),
  } as Record<"arrow" | "raw" | "tensors" | "lists", () => Promise<Times>>;
  await inTurns(WARM_UP_ROUNDS, sides);
  const { arrow: ours, raw: files, ...saved } = await inTurns(ROUNDS, sides);
  return [
    ...against(context, "raw files", ours, files, 0.8),
    ...(saved.lists
      ? against(context, "torch.save, torch.load of slime's samples", ours, saved.lists, 2)
      : []),
    ...(saved.tensors
      ? against(context, "torch.save, torch.load of tensors", ours, saved.tensors, null)
      : []),
    ...(await memory(folder)),
  ];
}

/** How fast, in megabytes of the batch's own file per second; the goal is that of writing and reading together. */
function against(
  context: BenchContext,
  peer: string,
  ours: readonly Times[],
  theirs: readonly Times[],
  goal: number | null,
): Measure[] {
  const megabytes = ours[0]!.bytes / 1e6;
  const rate = (name: string, seconds: (times: Times) => number, goal: number | null) => {
    const [value, reference] = [ours, theirs].map((times) => megabytes / median(times.map(seconds)));
    context.progress(`${name}: ${value!.toFixed(0)} MB/s, ${peer} ${reference!.toFixed(0)} MB/s`);
    return measure({
      name: `${name}, of ${peer}`,
      value: value!,
      unit: "MB/s",
      reference: reference!,
      better: "higher",
      goal,
    });
  };
  return [
    rate("write + read", ({ write, read }) => write + read, goal),
    rate("write", ({ write }) => write, null),
    rate("read", ({ read }) => read, null),
    measure({
      name: `size, of ${peer}`,
      value: megabytes,
      unit: "MB",
      reference: median(theirs.map(({ bytes }) => bytes)) / 1e6,
      better: "lower",
      goal: null,
    }),
  ];
}

/** On top of the rows in hand, in a process of its own. */
async function memory(folder: string): Promise<Measure[]> {
  const entry = join(import.meta.dirname, "batch-memory.ts");
  const numbers = [SEED, GROUPS, GROUP_SIZE, TOKENS].map(String);
  const args = [...MEMORY_FLAGS, "--expose-gc", entry, join(folder, "memory.arrow"), ...numbers];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    env: { ...process.env, MALLOC_ARENA_MAX: "2" },
  });
  const { write, read, bytes } = JSON.parse(stdout) as Times;
  return Object.entries({ writing: write, reading: read }).map(([name, most]) =>
    measure({
      name: `memory of ${name}, of the batch`,
      value: most / 1e6,
      unit: "MB",
      reference: bytes / 1e6,
      better: "lower",
      goal: 2,
    }),
  );
}

/** As the artifact store writes what the assembler gives it. */
async function writeContent(file: string, parts: readonly Uint8Array[]): Promise<void> {
  const handle = await open(file, "w");
  try {
    await writeParts(handle, parts);
  } finally {
    await handle.close();
  }
}

async function throughArrow(file: string, rows: readonly BatchRow[]): Promise<Pass> {
  const write = await timed(async () => {
    const parts = batchParts(rows);
    await writeContent(file, parts);
    return parts.reduce((sum, part) => sum + part.byteLength, 0);
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
