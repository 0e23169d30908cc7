import { describe, expect, it } from 'vitest';
import { newSeed } from '../../test/new-seed.ts';
import { seededRandom } from '../clock/index.ts';
import type { Algorithm, CommandAction } from './recipe.ts';
import { type Image, START_MS, Store } from './store.ts';

const RECIPE: Algorithm = {
  name: 'test',
  lockKey: 'lock',
  // biome-ignore lint/correctness/useYield: a client that does nothing
  *client() {
    return 'done';
  },
};

const action = (...lines: string[]): CommandAction => ({
  kind: 'command',
  lines: lines.map((line) => line.split(' ')),
});

const COMMANDS = [
  'SET lock a PX 2000',
  'SET lock b NX EX 1',
  'GETSET lock c',
  'DEL lock',
  'PTTL lock',
  'PERSIST lock',
  'PEXPIRE h 1500',
  'HSET h one 1 two 2',
  'HDEL h one',
  'HGETALL h',
  'RPUSH l x y',
  'LPOP l',
  'LRANGE l 0 -1',
  'SADD s q p',
  'SREM s p',
  'SMEMBERS s',
  'ZADD z 2 m 1 n',
  'ZINCRBY z 2.5 n',
  'ZRANGE z 0 -1 WITHSCORES',
  'EXPIRE z 2',
  'INCR fence',
  'TIME',
  'EXPIREAT lock 1003',
].map((line) => action(line));

const TRANSACTION = action('MULTI', 'SETNX lock t', 'EXPIRE lock 2', 'EXEC');

describe('the store as a function', () => {
  it('gives the replies of an engine that is never restored, whatever ran before', () => {
    const seed = Number(newSeed());
    const random = seededRandom(seed);
    const draw = (count: number): number => Math.floor(random.next() * count);
    const jumping = new Store(RECIPE, true);
    for (let history = 0; history < 60; history++) {
      const straight = new Store(RECIPE, false);
      let [image, mirror]: [Image, Image] = [jumping.empty, straight.empty];
      let nowMs = START_MS;
      for (let step = 0; step < 25; step++) {
        if (draw(3) === 0) {
          nowMs += 500 * draw(4);
          [image, mirror] = [jumping.at(image, nowMs), straight.at(mirror, nowMs)];
        }
        const action = draw(12) === 0 ? TRANSACTION : COMMANDS[draw(COMMANDS.length)]!;
        // A command on another image in between forces a restore.
        if (draw(2) === 0) jumping.run(jumping.empty, START_MS, COMMANDS[draw(6)]!);
        const [left, right] = [
          jumping.run(image, nowMs, action),
          straight.run(mirror, nowMs, action),
        ];
        const where = `seed ${seed}, history ${history}, ${action.lines.join(' ')}`;
        expect(left.answer, where).toEqual(right.answer);
        [image, mirror] = [left.image, right.image];
        expect(image.entries, where).toEqual(mirror.entries);
        expect(image.lock, where).toEqual(mirror.lock);
      }
      expect(straight.restored).toBe(0);
    }
    expect(jumping.restored).toBeGreaterThan(60);
  });

  it('runs a command once on the same image at the same time', () => {
    const store = new Store(RECIPE, true);
    const set = COMMANDS[0]!;
    const first = store.run(store.empty, START_MS, set);
    expect(store.run(store.empty, START_MS, set)).toBe(first);
    expect(store.run(store.empty, START_MS + 1000, set).image).not.toBe(first.image);
    expect(store.executed).toBe(2);
  });

  it('expires keys exactly at their deadline', () => {
    const store = new Store(RECIPE, true);
    const { image } = store.run(store.empty, START_MS, action('SET lock a PX 2000'));
    expect(store.at(image, START_MS + 1999).lock).toEqual({ value: 'a', endMs: START_MS + 2000 });
    expect(store.at(image, START_MS + 2000).entries).toEqual([]);
  });

  it('refuses commands that do not depend on the keys and the time alone', () => {
    const store = new Store(RECIPE, true);
    for (const line of [
      'RANDOMKEY',
      'KEYS *',
      'SCAN 0',
      'MOVE lock 1',
      'COPY lock other DB 1',
      'EVALSHA_RO x 0',
      'WATCH lock',
      'BLPOP l 0',
      'SUBSCRIBE c',
      'EVALSHA x 0',
      'MULTI',
    ]) {
      expect(() => store.run(store.empty, START_MS, action(line))).toThrow(
        `test cannot run ${line}: its effect`,
      );
    }
    expect(() => store.run(store.empty, START_MS, action('SETNX lock'))).toThrow(/wrong number/);
    expect(() => store.run(store.empty, START_MS, action('SETN lock a'))).toThrow(
      /no such command/,
    );
    const { image } = store.run(store.empty, START_MS, action('SADD s a'));
    expect(() => store.run(image, START_MS, action('GET s'))).toThrow(/WRONGTYPE/);
  });

  it.each([
    ['SETRANGE lock 500000000 x'],
    ['SETRANGE lock 100000 x'],
    [`APPEND lock ${'x'.repeat(70_000)}`],
    [`RPUSH l ${'x '.repeat(5000).trim()}`],
  ])('refuses keys that are too large to be kept for each state: %#', (line) => {
    const store = new Store(RECIPE, true);
    expect(() => store.run(store.empty, START_MS, action(line))).toThrow(
      /^test cannot run \w+ .{1,80}: the keys would take more than 64 KiB.* Use shorter values/,
    );
  });

  it.each([
    ['while true do end'],
    ['local a = {} while true do a[#a + 1] = string.rep("x", 100000) end'],
    ["while true do pcall(redis.call, 'GET', 'lock') end"],
  ])('stops a script after as many steps on every machine: %s', (script) => {
    const store = new Store(RECIPE, true);
    const lines = [['EVAL', `-- wait\n${script}`, '0']];
    expect(() => store.run(store.empty, START_MS, { kind: 'command', lines })).toThrow(
      /^test cannot run EVAL -- wait .{1,80}: its script spent its budget of 100000 steps/,
    );
  });
});
