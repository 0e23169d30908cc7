/**
 * Redis's random numbers: the 48-bit linear congruential generator of drand48. Its seed is the same for
 * each script, so that a script gets the same numbers each time. The state is three 16-bit words, whose
 * products a double holds exactly.
 */

/** lrand48 gives 31 bits; Redis divides by the largest value. */
export const RANDOM_RANGE = 0x7fff_ffff;

const MULTIPLIER = [0xe66d, 0xdeec, 0x5] as const;
const ADDEND = 0xb;
const LOWEST_SEED_WORD = 0x330e;

let low = LOWEST_SEED_WORD;
let middle = 0;
let high = 0;

export function seedRandom(seed: number): void {
  low = LOWEST_SEED_WORD;
  middle = seed & 0xffff;
  high = (seed >>> 16) & 0xffff;
}

export function nextRandom(): number {
  const [a, b, c] = MULTIPLIER;
  const lowest = low * a + ADDEND;
  const second = low * b + middle * a + Math.floor(lowest / 0x10000);
  const third = low * c + middle * b + high * a + Math.floor(second / 0x10000);
  low = lowest % 0x10000;
  middle = second % 0x10000;
  high = third % 0x10000;
  return high * 0x8000 + (middle >>> 1);
}
