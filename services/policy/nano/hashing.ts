/** Sparse features: names hashed to slots, with values. Renaming a feature needs a new FEATURE_VERSION. */
export const FEATURE_VERSION = 1;
/** Number of weights. */
export const SLOTS = 65536;

const known = new Map<string, number>();
const KNOWN_LIMIT = 200_000;

/** Slot of a feature: FNV-1a of its name's UTF-16 code units, folded to 16 bits. */
export function slotOf(name: string): number {
  const cached = known.get(name);
  if (cached !== undefined) return cached;
  let hash = 0x811c9dc5;
  const versioned = `${FEATURE_VERSION}|${name}`;
  for (let i = 0; i < versioned.length; i++) {
    const code = versioned.charCodeAt(i);
    hash = Math.imul(hash ^ (code & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (code >>> 8), 0x01000193);
  }
  const slot = (hash >>> 16) ^ (hash & 0xffff);
  // Names made from a statement's words could fill the memory of a server that runs for weeks.
  if (known.size >= KNOWN_LIMIT) known.clear();
  known.set(name, slot);
  return slot;
}

/** Candidates in compressed rows: candidate i has the features and values at offsets[i] .. offsets[i + 1]. */
export interface Candidates {
  readonly tokens: Int32Array;
  readonly offsets: Int32Array;
  readonly features: Int32Array;
  readonly values: Float64Array;
}

/** Features of one candidate. */
export class Features {
  readonly slots: number[] = [];
  readonly values: number[] = [];

  add(name: string, value = 1): void {
    if (value === 0 || !Number.isFinite(value)) return;
    this.slots.push(slotOf(name));
    this.values.push(value);
  }
}

/** Candidates in rows. `parts` of a candidate are put one after the other. */
export function pack(
  tokens: readonly number[],
  parts: (index: number) => readonly (Features | null)[],
): Candidates {
  const rows = tokens.map((_, index) => parts(index).filter((part) => part !== null));
  const total = rows.reduce((sum, row) => sum + row.reduce((n, part) => n + part.slots.length, 0), 0);
  const candidates = {
    tokens: Int32Array.from(tokens),
    offsets: new Int32Array(tokens.length + 1),
    features: new Int32Array(total),
    values: new Float64Array(total),
  };
  let at = 0;
  rows.forEach((row, index) => {
    for (const part of row) {
      candidates.features.set(part.slots, at);
      candidates.values.set(part.values, at);
      at += part.slots.length;
    }
    candidates.offsets[index + 1] = at;
  });
  return candidates;
}
