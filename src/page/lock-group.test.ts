import { expect, it } from 'vitest';
import { GroupCounts, groupOf } from './lock-group.ts';

it.each([
  ['order:42', 'order:*'],
  ['order:42:items:7', 'order:*:items:*'],
  ['user/9f8b1c2d3e4f', 'user/*'],
  ['job-5f3a2c1e-8b4d-4c1a-9e2f-0a1b2c3d4e5f', 'job-*'],
  ['deploy', 'deploy'],
  ['v2:report', 'v2:report'],
  ['invoice-2026-11-18', 'invoice-*'],
  ['订单:42', '订单:*'],
  ['cache', 'cache'],
  ['decade', 'decade'],
  ['session:k3v9q1t7x2aaaaaaaa', 'session:*'],
  ['', ''],
])('makes %s the group %s', (name, group) => {
  expect(groupOf(name)).toBe(group);
});

it('takes no longer for a hostile name', () => {
  for (const part of ['0', '*-', '0-', 'a0-', '\ud800']) {
    expect(groupOf(part.repeat(1e6)).length).toBeLessThanOrEqual(200);
  }
});

it('counts 100 groups, and the rest together', () => {
  const groups = new GroupCounts(() => ({ count: 0 }));
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 1500; at++) groups.of(`group ${letters(at)}:${at}`).count++;
  }
  const entries = groups.entries();
  expect(entries.length).toBe(101);
  expect(entries[0]).toEqual(['group aaa:*', { count: 2 }]);
  expect(entries.at(-1)).toEqual(['(others)', { count: 2800 }]);
});

function letters(number: number): string {
  const text = number.toString(26).padStart(3, '0');
  return text.replaceAll(/./g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 26)));
}
