import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LUA_CORPUS } from './lua-corpus.ts';
import { evaluate, recordOf } from './lua-reply.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';

const KEYS = ['k1'];
const ARGV = ['a1', 'a2'];

describe('our Lua gives the recorded replies', () => {
  for (const [topic, cases] of Object.entries(LUA_CORPUS)) {
    it(topic, () => {
      const actual = cases.map(([script]) => [script, evaluate(script, KEYS, ARGV)]);
      expect(actual).toEqual(cases);
    });
  }
});

describe('Redis gives the recorded replies', () => {
  let server: RunningServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRealRedis();
    redis = new Redis(server.port, server.host);
  });

  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  for (const [topic, cases] of Object.entries(LUA_CORPUS)) {
    it(topic, async () => {
      const actual = await Promise.all(
        cases.map(async ([script]) => [script, await recordOf(redis, script, KEYS, ARGV)]),
      );
      expect(actual).toEqual(cases);
    });
  }
});
