import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { partOf } from './part-of.ts';

it.each([
  [0, 0],
  [0, 12],
  [3, 16],
  [3, 100],
  [0, 200],
])('returns the chars from %d to %d', (start, end) => {
  const text = Array.from({ length: 200 }, (_, at) => String.fromCharCode(at)).join('');
  expect(partOf(text, start, end)).toBe(text.slice(start, end));
});

it('does not keep a long text alive', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const kept = Array.from({ length: 100 }, (_, at) =>
    partOf(Buffer.alloc(1_000_000, 97 + (at % 26)).toString('latin1'), 10, 40),
  );
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  kept.length = 0;
  collectGarbage();
  const after = process.memoryUsage();
  expect(heapUsed + external - after.heapUsed - after.external).toBeLessThan(50_000_000);
});
