import { expect, it } from 'vitest';
import { Statistics } from './statistics.ts';

it('reset sets counters to zero, but keeps the changes since the last save', () => {
  const statistics = new Statistics();
  statistics.counters.changes = 3;
  statistics.countCall(1);
  statistics.countTime(1, 2);
  statistics.countError('ERR', 1, 'failed');
  statistics.reset();
  expect(statistics.counters).toMatchObject({ commands: 0, errors: 0, changes: 3 });
  expect([statistics.calls[1], statistics.totalMs[1], statistics.failed[1]]).toEqual([0, 0, 0]);
  expect(statistics.errorsByCode.size).toBe(0);
});

it('counts no more than 128 kinds of errors', () => {
  const statistics = new Statistics();
  for (let code = 0; code < 200; code++) statistics.countError(`E${code}`, -1, 'rejected');
  statistics.countError('E5', -1, 'rejected');
  expect(statistics.errorsByCode.size).toBe(128);
  expect(statistics.errorsByCode.get('E5')).toBe(2);
  expect(statistics.counters.errors).toBe(201);
});
