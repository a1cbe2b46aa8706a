/**
 * Training batches as Arrow IPC files: one row per segment. Immutable, named by their content: the same rows give the same bytes.
 * Columns: group (utf8), rollout (utf8), advantage (float64), reward (float64), raw (uint8), tokens (list<int32>), trainable (list<uint8>),
 * logprobs (list<float64>). Groups whose raw rewards are all equal are not in it. docs/batch.md is its specification.
 */
import {
  AsyncByteQueue,
  type Data,
  type DataType,
  Field,
  Float64,
  Int32,
  List,
  makeData,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  type Table,
  tableFromIPC,
  Uint8,
  Utf8,
} from "apache-arrow";

export interface BatchRow {
  readonly group: string;
  readonly rollout: string;
  /** Advantage of every trainable token of the row. */
  readonly advantage: number;
  readonly reward: number;
  readonly raw: 0 | 1;
  readonly tokens: readonly number[] | Int32Array;
  readonly trainable: readonly (0 | 1)[] | Uint8Array;
  /** log q, nats, at sampling time. */
  readonly logProbs: readonly number[] | Float64Array;
}

/** What `decodeBatch` gives back: views into the file's own bytes, nothing copied. */
export interface DecodedRow extends BatchRow {
  readonly tokens: Int32Array;
  readonly trainable: Uint8Array;
  readonly logProbs: Float64Array;
}

/** `format`: these are not the rows of a batch. `row`: a row breaks a rule. */
export type BatchErrorKind = "format" | "row";

export class BatchError extends Error {
  readonly kind: BatchErrorKind;
  constructor(kind: BatchErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "BatchError";
    this.kind = kind;
  }
}

export const BATCH_FORMAT = "tadpole-batch";
export const BATCH_VERSION = "1";

const list = <T extends DataType>(item: T): List<T> => new List(new Field("item", item, false));
const COLUMNS = {
  group: new Utf8(),
  rollout: new Utf8(),
  advantage: new Float64(),
  reward: new Float64(),
  raw: new Uint8(),
  tokens: list(new Int32()),
  trainable: list(new Uint8()),
  logprobs: list(new Float64()),
};
const SCHEMA = new Schema(
  Object.entries(COLUMNS).map(([name, type]) => new Field(name, type, false)),
  new Map([
    ["format", BATCH_FORMAT],
    ["version", BATCH_VERSION],
  ]),
);

/** The first rule a row breaks, or null. */
function faultOf(row: BatchRow): string | null {
  const { tokens, trainable, logProbs } = row;
  if (row.group === "" || row.rollout === "") return "group and rollout must not be empty";
  if (!Number.isFinite(row.advantage)) return `advantage is ${row.advantage}, expected a finite number`;
  if (!Number.isFinite(row.reward)) return `reward is ${row.reward}, expected a finite number`;
  if (row.raw !== 0 && row.raw !== 1) return `raw is ${row.raw}, expected 0 or 1`;
  if (tokens.length === 0) return "tokens is empty";
  if (trainable.length !== tokens.length || logProbs.length !== tokens.length)
    return `tokens, trainable and logProbs have ${tokens.length}, ${trainable.length} and ${logProbs.length} elements, expected equally many`;
  for (let i = 0; i < tokens.length; i++) {
    if (!Number.isInteger(tokens[i]) || tokens[i]! < 0 || tokens[i]! > 0x7fffffff)
      return `tokens[${i}] is ${tokens[i]}, expected an integer from 0 to 2^31-1`;
    if (trainable[i] !== 0 && trainable[i] !== 1)
      return `trainable[${i}] is ${trainable[i]}, expected 0 or 1`;
    if (!Number.isFinite(logProbs[i])) return `logProbs[${i}] is ${logProbs[i]}, expected a finite number`;
    if (trainable[i] === 0 && logProbs[i] !== 0)
      return `logProbs[${i}] is ${logProbs[i]}, expected 0 where trainable is 0`;
  }
  return null;
}

/** As `faultOf` for a row of typed arrays that keeps the rules, at a tenth of its cost; what it refuses `faultOf` names. */
function isSound({ group, rollout, advantage, reward, raw, tokens, trainable, logProbs }: BatchRow): boolean {
  if (!(tokens instanceof Int32Array && trainable instanceof Uint8Array && logProbs instanceof Float64Array))
    return false;
  const { length } = tokens;
  if (group === "" || rollout === "" || length === 0) return false;
  if (trainable.length !== length || logProbs.length !== length) return false;
  if (!(Number.isFinite(advantage + reward) && (raw === 0 || raw === 1))) return false;
  // Without branches: each sum stays what it is as long as no element breaks a rule.
  let sign = 0;
  let flags = 0;
  let misplaced = 0;
  for (let i = 0; i < length; i++) {
    const flag = trainable[i]!;
    sign |= tokens[i]!;
    flags |= flag;
    // |q| where not trainable; where trainable 0, or NaN of what is not finite.
    misplaced += Math.abs(logProbs[i]!) * (1 - flag);
  }
  return sign >= 0 && flags <= 1 && misplaced === 0;
}

function check(rows: readonly BatchRow[]): void {
  rows.forEach((row, index) => {
    if (isSound(row)) return;
    const fault = faultOf(row);
    if (fault) throw new BatchError("row", `batch row ${index} (${row.rollout}): ${fault}`);
  });
}

function offsetsOf(lengths: readonly number[]): Int32Array {
  const offsets = new Int32Array(lengths.length + 1);
  let total = 0;
  lengths.forEach((length, i) => {
    total += length;
    if (total > 0x7fffffff) throw new BatchError("row", "a batch holds at most 2^31-1 tokens");
    offsets[i + 1] = total;
  });
  return offsets;
}

function utf8(values: readonly string[]): Data<Utf8> {
  const encoded = values.map((value) => Buffer.from(value, "utf8"));
  return makeData({
    type: COLUMNS.group,
    valueOffsets: offsetsOf(encoded.map((bytes) => bytes.length)),
    data: Buffer.concat(encoded),
  });
}

type Values = Int32Array | Uint8Array | Float64Array;

/** The parts of a file in their order, as the writer hands them over: views of the arrays it was given, nothing copied. */
class Parts extends AsyncByteQueue {
  readonly parts: Uint8Array[] = [];
  override write(part: Uint8Array): void {
    this.parts.push(part);
  }
}

/** Views of a row's arrays; what is no typed array is copied into one. */
const bytesOf = {
  tokens: ({ tokens }: BatchRow) => asBytes(tokens instanceof Int32Array ? tokens : Int32Array.from(tokens)),
  trainable: ({ trainable }: BatchRow) =>
    trainable instanceof Uint8Array ? trainable : Uint8Array.from(trainable),
  logProbs: ({ logProbs }: BatchRow) =>
    asBytes(logProbs instanceof Float64Array ? logProbs : Float64Array.from(logProbs)),
};

function asBytes({ buffer, byteOffset, byteLength }: Int32Array | Float64Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** As `batchParts`, in one piece. */
export function encodeBatch(rows: readonly BatchRow[]): Uint8Array {
  return Buffer.concat(batchParts(rows));
}

/**
 * Arrow IPC file of the rows, in their order, as parts that follow one another: the rows' own arrays, nothing copied. Throws BatchError `row` naming the
 * row and the field.
 */
export function batchParts(rows: readonly BatchRow[]): readonly Uint8Array[] {
  check(rows);
  const valueOffsets = offsetsOf(rows.map((row) => row.tokens.length));
  const total = valueOffsets[rows.length]!;
  // Zeros, which take no memory while nothing is written to them: they stand for the parts of the file that the rows' values are.
  const tokens = new Int32Array(total);
  const trainable = new Uint8Array(total);
  const logProbs = new Float64Array(total);
  const numbers = (pick: (row: BatchRow) => number) =>
    makeData({ type: COLUMNS.advantage, data: Float64Array.from(rows, pick) });
  const children: Data[] = [
    utf8(rows.map((row) => row.group)),
    utf8(rows.map((row) => row.rollout)),
    numbers((row) => row.advantage),
    numbers((row) => row.reward),
    makeData({ type: COLUMNS.raw, data: Uint8Array.from(rows, (row) => row.raw) }),
    makeData({
      type: COLUMNS.tokens,
      valueOffsets,
      child: makeData({ type: new Int32(), data: tokens }),
    }),
    makeData({
      type: COLUMNS.trainable,
      valueOffsets,
      child: makeData({ type: new Uint8(), data: trainable }),
    }),
    makeData({
      type: COLUMNS.logprobs,
      valueOffsets,
      child: makeData({ type: new Float64(), data: logProbs }),
    }),
  ];
  const data = makeData({ type: new Struct(SCHEMA.fields), length: rows.length, nullCount: 0, children });
  const columns = new Map<ArrayBufferLike, (row: BatchRow) => Uint8Array>([
    [tokens.buffer, bytesOf.tokens],
    [trainable.buffer, bytesOf.trainable],
    [logProbs.buffer, bytesOf.logProbs],
  ]);
  return written(new RecordBatch(SCHEMA, data)).parts.flatMap((part) => {
    const column = columns.get(part.buffer);
    return column ? rows.map(column) : [part];
  });
}

function written(batch: RecordBatch): Parts {
  const sink = new Parts();
  const writer = new RecordBatchFileWriter();
  writer.reset(sink);
  writer.write(batch);
  writer.finish();
  return sink;
}

function parse(bytes: Uint8Array): Table {
  try {
    return tableFromIPC(bytes);
  } catch (error) {
    throw new BatchError("format", "not an Arrow IPC file", { cause: error });
  }
}

/** Rows of a batch file, in order. Throws BatchError `format`, or `row` where the file's rows break a rule. */
export function decodeBatch(bytes: Uint8Array): DecodedRow[] {
  const table = parse(bytes);
  const { metadata } = table.schema;
  const found = `${metadata.get("format")} ${metadata.get("version")}`;
  if (found !== `${BATCH_FORMAT} ${BATCH_VERSION}`)
    throw new BatchError("format", `expected format ${BATCH_FORMAT} ${BATCH_VERSION}, found ${found}`);
  const expected = SCHEMA.fields.map(String).join(", ");
  const actual = table.schema.fields.map(String).join(", ");
  if (actual !== expected) throw new BatchError("format", `expected columns ${expected}; found ${actual}`);
  const column = (name: keyof typeof COLUMNS) => table.getChild(name)!;
  const values = <A extends Values>(name: keyof typeof COLUMNS, row: number): A =>
    column(name).get(row).toArray() as A;
  const rows = Array.from({ length: table.numRows }, (_, i) => ({
    group: column("group").get(i) as string,
    rollout: column("rollout").get(i) as string,
    advantage: column("advantage").get(i) as number,
    reward: column("reward").get(i) as number,
    raw: column("raw").get(i) as 0 | 1,
    tokens: values<Int32Array>("tokens", i),
    trainable: values<Uint8Array>("trainable", i),
    logProbs: values<Float64Array>("logprobs", i),
  }));
  check(rows);
  return rows;
}
