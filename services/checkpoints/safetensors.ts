/**
 * Looks at a safetensors file without reading its tensors: 64-bit little-endian length of the header, JSON header, raw tensors. So a file that was cut
 * short is known before anybody loads it. Layout: https://github.com/huggingface/safetensors#format
 */
import { open } from "node:fs/promises";

/** The reference implementation's own bound. */
const MAX_HEADER_BYTES = 100_000_000;
const LENGTH_BYTES = 8;

/** Names of the tensors, or what is wrong with the file. */
export async function tensorNames(file: string): Promise<ReadonlySet<string> | string> {
  const handle = await open(file, "r");
  try {
    const { size } = await handle.stat();
    const length = Buffer.alloc(LENGTH_BYTES);
    if (size < LENGTH_BYTES) return `has ${size} bytes: it is cut short`;
    await handle.read(length, 0, LENGTH_BYTES, 0);
    const headerBytes = Number(length.readBigUInt64LE());
    if (headerBytes > MAX_HEADER_BYTES) return "is no safetensors file";
    if (LENGTH_BYTES + headerBytes > size) return `has ${size} bytes: it is cut short`;
    const text = Buffer.alloc(headerBytes);
    await handle.read(text, 0, headerBytes, LENGTH_BYTES);
    const header = JSON.parse(text.toString("utf8")) as Record<string, { data_offsets?: [number, number] }>;
    const names = Object.keys(header).filter((name) => name !== "__metadata__");
    const ends = names.map((name) => header[name]?.data_offsets?.[1] ?? Number.NaN);
    const expected = LENGTH_BYTES + headerBytes + Math.max(0, ...ends);
    if (Number.isNaN(expected)) return "is no safetensors file";
    return expected === size
      ? new Set(names)
      : `has ${size} bytes where its header says ${expected}: it is cut short or was changed`;
  } catch (error) {
    if (error instanceof SyntaxError) return "is no safetensors file";
    throw error;
  } finally {
    await handle.close();
  }
}
