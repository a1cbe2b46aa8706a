/**
 * The checkpoint file of the embedded policy: weights, both moments of Adam and the step, in the safetensors layout (64-bit
 * little-endian length of the header, JSON header, raw little-endian tensors), so that any safetensors reader opens it.
 * The same checkpoint always gives the same bytes. Layout: https://github.com/huggingface/safetensors#format
 */

import { FEATURE_VERSION, SLOTS } from "./hashing.ts";

const FORMAT = "tadpole-nano";
const VERSION = "1";
const TENSORS = ["moment1", "moment2", "weights"] as const;
const TENSOR_BYTES = SLOTS * Float64Array.BYTES_PER_ELEMENT;
const LENGTH_BYTES = 8;
/** Far above the few hundred bytes of a real header: a greater length means another kind of file. */
const MAX_HEADER_BYTES = 4_096;

export interface NanoCheckpoint {
  /** [SLOTS] Logit weights. */
  readonly weights: Float64Array;
  /** [SLOTS] Adam's first moment. */
  readonly moment1: Float64Array;
  /** [SLOTS] Adam's second moment, >= 0. */
  readonly moment2: Float64Array;
  /** Optimizer steps since the moments were zero. */
  readonly step: number;
}

/** `version`: another format, or weights of other features. `not-finite`: a tensor holds NaN or an infinity. */
export type CheckpointErrorKind = "truncated" | "format" | "version" | "not-finite";

export class CheckpointError extends Error {
  readonly kind: CheckpointErrorKind;
  constructor(kind: CheckpointErrorKind, message: string, options?: ErrorOptions) {
    super(`checkpoint: ${message}`, options);
    this.name = "CheckpointError";
    this.kind = kind;
  }
}

/** Weights ([SLOTS]) with a fresh optimizer. */
export function freshCheckpoint(weights: Float64Array): NanoCheckpoint {
  return { weights, moment1: new Float64Array(SLOTS), moment2: new Float64Array(SLOTS), step: 0 };
}

/** Throws `CheckpointError` on tensors of another length or with numbers that are not finite. */
export function encodeCheckpoint(checkpoint: NanoCheckpoint): Uint8Array {
  for (const name of TENSORS) checkTensor(name, checkpoint[name]);
  const header = Buffer.from(headerText(checkpoint.step));
  const bytes = new Uint8Array(LENGTH_BYTES + header.length + TENSORS.length * TENSOR_BYTES);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(header.length), true);
  bytes.set(header, LENGTH_BYTES);
  let at = LENGTH_BYTES + header.length;
  for (const name of TENSORS)
    for (const value of checkpoint[name]) {
      view.setFloat64(at, value, true);
      at += Float64Array.BYTES_PER_ELEMENT;
    }
  return bytes;
}

/** Throws `CheckpointError`. The tensors are copies, so the bytes may be re-used. */
export function decodeCheckpoint(bytes: Uint8Array): NanoCheckpoint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < LENGTH_BYTES)
    throw new CheckpointError("truncated", `${bytes.length} bytes, not even a header`);
  const length = Number(view.getBigUint64(0, true));
  if (length > MAX_HEADER_BYTES)
    throw new CheckpointError("format", `a header of ${length} bytes; expected at most ${MAX_HEADER_BYTES}`);
  const start = LENGTH_BYTES + length;
  if (bytes.length < start) throw new CheckpointError("truncated", "it ends inside its header");
  const step = readHeader(bytes.subarray(LENGTH_BYTES, start));
  const expected = start + TENSORS.length * TENSOR_BYTES;
  if (bytes.length < expected)
    throw new CheckpointError("truncated", `${bytes.length} bytes; expected ${expected}`);
  if (bytes.length > expected)
    throw new CheckpointError("format", `${bytes.length - expected} bytes after the last tensor`);
  const tensor = (name: (typeof TENSORS)[number]) =>
    readTensor(name, view, start + TENSORS.indexOf(name) * TENSOR_BYTES);
  return {
    weights: tensor("weights"),
    moment1: tensor("moment1"),
    moment2: tensor("moment2"),
    step,
  };
}

/** Keys sorted, and spaces added up to a multiple of 8, so that the tensors are aligned. */
function headerText(step: number): string {
  const tensors = TENSORS.map((name, index) => [
    name,
    { data_offsets: [index * TENSOR_BYTES, (index + 1) * TENSOR_BYTES], dtype: "F64", shape: [SLOTS] },
  ]);
  const metadata = {
    featureVersion: String(FEATURE_VERSION),
    format: FORMAT,
    step: String(step),
    version: VERSION,
  };
  const text = JSON.stringify({ __metadata__: metadata, ...Object.fromEntries(tensors) });
  return text.padEnd(Math.ceil(text.length / 8) * 8);
}

/** The step. */
function readHeader(bytes: Uint8Array): number {
  const text = new TextDecoder().decode(bytes);
  let metadata: Record<string, unknown>;
  try {
    metadata = (JSON.parse(text) as { __metadata__?: Record<string, unknown> } | null)?.__metadata__ ?? {};
  } catch (cause) {
    throw new CheckpointError("format", "its header is not JSON", { cause });
  }
  const expect = (kind: "format" | "version", field: string, value: string) => {
    if (metadata[field] !== value)
      throw new CheckpointError(kind, `${field} is ${String(metadata[field])}; expected ${value}`);
  };
  expect("format", "format", FORMAT);
  expect("version", "version", VERSION);
  // The slots of other features hold weights that mean nothing here.
  expect("version", "featureVersion", String(FEATURE_VERSION));
  const step = Number(metadata.step);
  // A step has one header: any other text is another layout, or damage.
  if (!Number.isSafeInteger(step) || step < 0 || headerText(step) !== text)
    throw new CheckpointError("format", "its header is not the one of its step");
  return step;
}

function readTensor(name: string, view: DataView, at: number): Float64Array {
  const tensor = new Float64Array(SLOTS);
  for (let i = 0; i < SLOTS; i++) tensor[i] = view.getFloat64(at + i * Float64Array.BYTES_PER_ELEMENT, true);
  checkTensor(name, tensor);
  return tensor;
}

function checkTensor(name: string, tensor: Float64Array): void {
  if (tensor.length !== SLOTS)
    throw new CheckpointError("format", `${name} has ${tensor.length} elements; expected ${SLOTS}`);
  const bad = tensor.findIndex((value) => !Number.isFinite(value));
  if (bad !== -1) throw new CheckpointError("not-finite", `${name}[${bad}] is ${tensor[bad]}`);
}
