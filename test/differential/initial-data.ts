import { FAR_TIMES_SECONDS } from './argument-values.ts';
import type { Argv } from './generators.ts';

/** Keys of every type, some with a deadline. */
export const INITIAL_DATA = typed([
  'MSET s1 10 s2 hello s3 -3.5',
  'HSET h1 a 1 b x 2 2.5',
  'HSET h2 c x a 7',
  'RPUSH l1 a b c a 1 2',
  'RPUSH l2 3 1 2',
  'SADD t1 1 2 3 5',
  'SADD t2 a b c 1',
  'ZADD z1 1 a 2 b 2 c 3.5 d',
  'ZADD z2 0 a 0 b 0 e 0 f',
  'EXPIRE s1 500000',
  `PEXPIREAT h1 ${FAR_TIMES_SECONDS[0] * 1000}`,
  'EXPIRE z1 600000',
]);

/** Commands that block on few keys, so that two of them often block on the same one. */
export const BLOCKING_COMMANDS = typed([
  'BLPOP l1 l2 0',
  'BRPOP l2 l1 0',
  'BLMPOP 0 2 l1 l2 LEFT COUNT 2',
  'BLMOVE l1 l2 LEFT LEFT 0',
  'BLMOVE l1 l1 LEFT RIGHT 0',
  'BLMOVE l1 s1 LEFT RIGHT 0',
  'BRPOPLPUSH l2 l1 0',
  'BZPOPMIN z1 z2 0',
  'BZPOPMAX z1 0',
  'BZMPOP 0 1 z1 MIN',
]);

/** Commands that create those keys, replace them by another type, or delete them. */
export const SERVING_COMMANDS: readonly Argv[] = [
  ...typed([
    'RPUSH l1 a b c',
    'LPUSH l1 y z',
    'LPUSH l2 x',
    'RPUSH l2 1 2',
    'ZADD z1 1 a 2 b',
    'ZADD z2 3 c',
    'SORT t1 STORE l1',
    'ZUNIONSTORE z1 1 t1',
    'COPY l2 l1 REPLACE',
    'LMOVE l2 l1 LEFT LEFT',
    'RENAME t1 l1',
    'SET l1 x',
    'LPOP l1',
    'DEL l1 z1',
    'EXPIRE l1 -1',
  ]),
  ['EVAL', "redis.call('rpush','l1','a') return redis.call('lpop','l1')", '0'],
];

function typed(lines: readonly string[]): readonly Argv[] {
  return lines.map((line) => line.split(' '));
}
