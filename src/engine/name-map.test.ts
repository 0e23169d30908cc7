import { describe, expect, it } from 'vitest';
import { type EngineClient, startEngineClient } from '../../test/engine-client.ts';
import { NameMap } from './name-map.ts';

/** Names of one length that differ in their last bytes only. */
function longNames(count: number, length: number): string[] {
  return Array.from({ length: count }, (_, at) => String(at).padStart(length, 'x'));
}

describe('a map of names', () => {
  it.each([3, 16_383, 16_384, 50_000])('distinguishes names of %d bytes', (length) => {
    const names = longNames(100, length);
    const map = new NameMap<number>();
    for (const [at, name] of names.entries()) map.set(name, at);
    map.delete(names[7]!);
    expect(names.map((name) => map.get(name))).toEqual(
      names.map((_, at) => (at === 7 ? undefined : at)),
    );
  });
});

describe('a map of 300,000 names', () => {
  it('finds each before and after the others are removed', () => {
    const map = new NameMap<number>();
    for (let at = 0; at < 300_000; at++) map.set(`name:${at}`, at);
    for (let at = 0; at < 300_000; at += 2) map.delete(`name:${at}`);
    let wrong = 0;
    for (let at = 0; at < 300_000; at++) {
      if (map.get(`name:${at}`) !== (at % 2 === 0 ? undefined : at)) wrong++;
    }
    expect(wrong).toBe(0);
  });
});

/** With a plain Map, each of these takes from ten seconds to minutes, longer than the timeout of a test. */
describe('3,000 names of 20 kB with a common beginning', () => {
  const names = longNames(3000, 20_000);
  const pairs = names.flatMap((name, at) => [String(at), name]);

  it.each<[string, (client: EngineClient) => unknown, unknown]>([
    ['SADD', (client) => client.send(['SADD', 'k', ...names]), 3000],
    ['HSET', (client) => client.send(['HSET', 'k', ...names.flatMap((name) => [name, 'v'])]), 3000],
    ['ZADD', (client) => client.send(['ZADD', 'k', ...pairs]), 3000],
    [
      'ZUNIONSTORE',
      (client) => {
        client.send(['ZADD', 'k', ...pairs]);
        return client.send('ZUNIONSTORE u 1 k');
      },
      3000,
    ],
    ['MSET', (client) => client.send(['MSET', ...pairs.toReversed()]), '+OK'],
  ])('are added quickly by %s', (_name, run, reply) => {
    expect(run(startEngineClient())).toBe(reply);
  });

  const TOO_LONG = '-ERR the name is too long (16383 bytes at most)';

  it.each([
    ['SUBSCRIBE', ['SUBSCRIBE', ...names], TOO_LONG],
    ['SSUBSCRIBE', ['SSUBSCRIBE', ...names], TOO_LONG],
    ['WATCH', ['WATCH', ...names], TOO_LONG],
    ['BLPOP', ['BLPOP', ...names, '0'], TOO_LONG],
    ['SHUTDOWN', ['SHUTDOWN', ...names], '-ERR syntax error'],
  ])('are rejected by %s', (_name, command, reply) => {
    expect(startEngineClient().send(command)).toBe(reply);
  });

  it('are skipped by INFO', () => {
    expect(startEngineClient().send(['INFO', ...names])).toMatchObject({ text: '' });
  });
});
