import fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { openBudget } from './budget.ts';
import { indexOf } from './search.ts';

beforeAll(() => openBudget({ steps: Number.MAX_SAFE_INTEGER, deadlineMs: 1 }));

const text = (max: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: max });

it('finds what String.indexOf finds, also texts of more than 64 chars', () => {
  fc.assert(
    fc.property(text(12), text(90), fc.nat(20), (filling, tail, from) => {
      const subject = 'ab'.repeat(60) + filling + tail + 'b'.repeat(70);
      for (const searched of [filling, tail, subject.slice(3), `${tail}c`, 'b'.repeat(71)]) {
        expect(indexOf(subject, searched, from)).toBe(subject.indexOf(searched, from));
      }
    }),
  );
});

it('finds a text that begins in one window and ends in the next', () => {
  const subject = `${'x'.repeat(2 ** 20 - 2)}abcd${'x'.repeat(100)}`;
  expect(indexOf(subject, 'abcd', 0)).toBe(2 ** 20 - 2);
  expect(indexOf(subject, 'abcd', 2 ** 20)).toBe(-1);
});

it('searches for a long text in time that grows with the lengths alone', () => {
  const half = 'x'.repeat(500_000);
  expect(indexOf('x'.repeat(4_000_000), `${half}y${half}`, 0)).toBe(-1);
});
