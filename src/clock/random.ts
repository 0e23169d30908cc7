/** Chance as a value, so that a run can be repeated from its seed. */
export interface Random {
  /** A number from 0 up to but not including 1. */
  next(): number;
  bytes(count: number): Uint8Array;
}

/** The same numbers for the same seed, on every machine (mulberry32). Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return { next, bytes: (count) => Uint8Array.from({ length: count }, () => next() * 256) };
}
