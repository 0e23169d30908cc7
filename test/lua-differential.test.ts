import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RecordedReply } from './lua-corpus.ts';
import { randomProgram } from './lua-program.ts';
import { evaluate, recordOf } from './lua-reply.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';

/** The number of programs, and the first seed. A failure prints the seed of its program. */
const { HOLDFAST_LUA_PROGRAMS = '1500', HOLDFAST_LUA_SEED = '1' } = process.env;
const PROGRAMS = Number(HOLDFAST_LUA_PROGRAMS);
const FIRST_SEED = Number(HOLDFAST_LUA_SEED);
const BATCH = 50;

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

/** Addresses are random, and so is the sign of a NaN, which C prints and JavaScript does not keep. */
function withoutRandomParts(reply: RecordedReply): RecordedReply {
  if (typeof reply === 'string') {
    return reply.replace(/-(nan)/gi, '$1').replace(/: 0x[0-9a-f]+/g, ': 0x');
  }
  return Array.isArray(reply) ? reply.map(withoutRandomParts) : reply;
}

it(
  'random programs give the same replies as on Redis',
  async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + PROGRAMS; seed += BATCH) {
      const seeds = Array.from({ length: BATCH }, (_, index) => seed + index);
      const theirs = await Promise.all(
        seeds.map((each) => recordOf(redis, randomProgram(each), [], [])),
      );
      seeds.forEach((each, index) => {
        const program = randomProgram(each);
        const ours = withoutRandomParts(evaluate(program, [], []));
        expect({ seed: each, program, reply: ours }).toEqual({
          seed: each,
          program,
          reply: withoutRandomParts(theirs[index]!),
        });
      });
    }
  },
  10 * 60_000,
);
