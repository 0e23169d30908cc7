import type { Recipe } from '../recipe.ts';

/** Seconds, as in the seeds: `<current Unix time + lock timeout + 1>`. */
const TIMEOUT = 1;

export const timestampDelSetnx: Recipe = {
  name: 'timestamp-del-setnx',
  about: {
    en: 'The value is the lease’s end; a client that finds it in the past sends DEL and SETNX, and so does a second client (C1, C2, C3).',
    zh: '锁的值是到期时间；发现过期的客户端先 DEL 再 SETNX，另一个也这样做（C1、C2、C3）。',
  },
  source: {
    document: 'reference',
    says: {
      en: 'Two clients that both find the lock expired delete it and take it in turn: both end up holding it.',
      zh: '两个客户端都发现锁已过期，先后删除并加锁，结果两个都拿到了锁。',
    },
  },
  lockKey: 'lock.foo',
  leaseEnd: Number,
  variants: [
    {
      name: 'crash',
      about: {
        en: 'C3 crashes with the lock; C1 and C2 both remove it.',
        zh: 'C3 持锁崩溃，C1 和 C2 都来清理。',
      },
      world: { pauses: 0 },
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
      ],
      shows: 'two-awake-inside',
    },
  ],
  *client({ command, unixTime, enter, work, leave }) {
    let expiry = (yield* unixTime()) + TIMEOUT + 1;
    if ((yield* command`SETNX lock.foo ${expiry}`) !== 1) {
      const found = yield* command`GET lock.foo`;
      const now = yield* unixTime();
      if (found === null || Number(found) >= now) return 'busy';
      yield* command`DEL lock.foo`;
      expiry = now + TIMEOUT + 1;
      if ((yield* command`SETNX lock.foo ${expiry}`) !== 1) return 'busy';
    }
    yield* enter({ until: expiry });
    yield* work();
    yield* leave();
    yield* command`DEL lock.foo`;
    return 'done';
  },
};
