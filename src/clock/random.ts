/** The source of random numbers. With a seeded one a run can be repeated. */
export interface Random {
  /** A number from 0 to 1, without 1. */
  next(): number;
  bytes(count: number): Uint8Array;
}

/** Returns the same numbers for the same seed on every machine (mulberry32). Not for secrets. */
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
