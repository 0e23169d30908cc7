import { afterEach, expect, it } from 'vitest';
import { heatPaths, levelOf } from './heat.ts';
import { locksHash, readRoute } from './routes.ts';
import { setLanguage, t } from './texts.ts';

afterEach(() => setLanguage('en'));

it('fills in numbers with the right word', () => {
  expect(t('shownLocks', { n: 1 })).toBe('1 lock shown');
  expect(t('shownLocks', { n: 12_345 })).toBe('12,345 locks shown');
  setLanguage('zh');
  expect(t('shownLocks', { n: 2 })).toBe('显示 2 个锁');
});

it('fills in a name that looks like a place or a pattern as it is', () => {
  expect(t('edgeWaits', { task: '{lock} $&', lock: 'b' })).toBe('{lock} $& waits for b');
});

it.each([
  ['', { view: 'locks', text: '' }],
  ['#/locks?q=a%20b%26c', { view: 'locks', text: 'a b&c' }],
  ['#/lock/abc', { view: 'lock', id: 'abc' }],
  ['#/waits', { view: 'waits' }],
  ['#/nonsense', { view: 'locks', text: '' }],
  ['#/lock/', { view: 'locks', text: '' }],
])('reads the route of %j', (hash, route) => {
  expect(readRoute(hash)).toEqual(route);
});

it('writes a filter into the URL that it reads again', () => {
  const text = 'ü & ? # 订单';
  expect(readRoute(locksHash(text))).toEqual({ view: 'locks', text });
});

it('gives no colour to 0, some to the least, and all to the most', () => {
  expect([0, 1, 50, 100].map((value) => levelOf(value, 100))).toEqual([0, 1, 4, 5]);
  const paths = heatPaths([0, 100, 0], 100, 10, 20);
  expect(paths[0]!.match(/M/g)).toHaveLength(2);
  expect(paths[5]).toBe('M10 0h9v20h-9z');
});
