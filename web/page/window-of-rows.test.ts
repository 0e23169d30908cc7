import fc from 'fast-check';
import { expect, it } from 'vitest';
import { windowOfRows } from './window-of-rows.ts';

it('draws all rows of a short list', () => {
  expect(windowOfRows(5, 44, 300, 900)).toEqual({ first: 0, end: 5 });
});

it('draws the rows on the screen and eight around them', () => {
  // Rows 100 to 120 are visible.
  expect(windowOfRows(10_000, 40, -4000, 800)).toEqual({ first: 92, end: 128 });
});

it('draws no row of an empty list, and none of a list that is above the screen', () => {
  expect(windowOfRows(0, 44, 0, 900)).toEqual({ first: 0, end: 0 });
  expect(windowOfRows(10, 44, -9000, 900)).toEqual({ first: 10, end: 10 });
});

it('has every visible row, and never many more', () => {
  const pixels = fc.integer({ min: -500_000, max: 2000 });
  fc.assert(
    fc.property(fc.nat({ max: 10_000 }), pixels, (count, topPx) => {
      const { first, end } = windowOfRows(count, 44, topPx, 900);
      expect(end - first).toBeLessThanOrEqual(Math.ceil(900 / 44) + 17);
      for (let row = 0; row < count; row += 7) {
        const isVisible = topPx + row * 44 < 900 && topPx + (row + 1) * 44 > 0;
        if (isVisible) expect(first <= row && row < end).toBe(true);
      }
    }),
    { numRuns: 50 },
  );
});
