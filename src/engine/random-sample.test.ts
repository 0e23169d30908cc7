import { describe, expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { sampleCountArgument, sampleSlots } from './random-sample.ts';

describe('sampleSlots', () => {
  it('returns distinct slots, each equally often', () => {
    const random = seededRandom(3);
    const chosen = new Array<number>(6).fill(0);
    for (let round = 0; round < 6000; round++) {
      const slots = sampleSlots(6, 2, random);
      expect(new Set(slots).size).toBe(2);
      for (const slot of slots) chosen[slot]!++;
    }
    for (const times of chosen) expect(Math.abs(times - 2000)).toBeLessThan(150);
  });

  it('returns all slots, in order, when the count exceeds the size', () => {
    expect(sampleSlots(3, 10, seededRandom(1))).toEqual([0, 1, 2]);
    expect(sampleSlots(3, 0, seededRandom(1))).toEqual([]);
  });

  it('repeats slots for a negative count', () => {
    const slots = sampleSlots(2, -100, seededRandom(1));
    expect(slots).toHaveLength(100);
    expect(new Set(slots)).toEqual(new Set([0, 1]));
  });

  it('rejects a count that exceeds the size of a reply', () => {
    expect(() => sampleSlots(2, -(2 ** 60), seededRandom(1))).toThrow(
      expect.objectContaining({
        message: 'ERR the reply would have too many items (262144 at most)',
      }),
    );
  });
});

describe('sampleCountArgument', () => {
  it('accepts 64-bit integers except -2^63', () => {
    expect(sampleCountArgument('-5')).toBe(-5);
    expect(() => sampleCountArgument('five')).toThrow(
      expect.objectContaining({ message: 'ERR value is not an integer or out of range' }),
    );
    expect(() => sampleCountArgument('-9223372036854775808')).toThrow(
      expect.objectContaining({
        message:
          'ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807',
      }),
    );
  });
});
