/** Token ids and log-probabilities as bytes: int32 and float64, little-endian, whatever the machine. */

/** Throws RangeError where an id is no signed 32-bit integer. */
export function encodeTokens(tokens: ArrayLike<number>): Buffer {
  const bytes = Buffer.alloc(tokens.length * 4);
  for (let i = 0; i < tokens.length; i++) {
    if (!Number.isInteger(tokens[i])) throw new RangeError(`token ${i} is ${tokens[i]}, expected an integer`);
    bytes.writeInt32LE(tokens[i]!, i * 4);
  }
  return bytes;
}

export function decodeTokens(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(i * 4));
}

export function encodeFloats(values: ArrayLike<number>): Buffer {
  const bytes = Buffer.alloc(values.length * 8);
  for (let i = 0; i < values.length; i++) bytes.writeDoubleLE(values[i]!, i * 8);
  return bytes;
}

export function decodeFloats(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 8 }, (_, i) => bytes.readDoubleLE(i * 8));
}
