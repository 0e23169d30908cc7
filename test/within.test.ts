import { expect, inject, it } from 'vitest';
import { withinMs } from './within.ts';

const factor = inject('machineFactor');

it('scales a limit by the machine factor, which is 1 or more', () => {
  expect(factor).toBeGreaterThanOrEqual(1);
  expect(withinMs(1000)).toBe(Math.ceil(1000 * factor));
});

it('keeps a limit at or below the timer that it must stay below', () => {
  expect(withinMs(1000, 1000)).toBe(1000);
  expect(withinMs(1000, 1_000_000)).toBe(withinMs(1000));
});

it('scales the time limit of a test', ({ task }) => {
  expect(task.timeout).toBeCloseTo(30_000 * factor);
});
