import type { Doing, Recipe } from '../recipe.ts';
import { ADD, ADD_WHOLE_SECONDS, CAS_EXPIRED } from './memcached-scripts.ts';

export const memcachedAdd: Recipe = {
  name: 'memcached-add',
  about: {
    en: 'The add of memcached with an expiry, and delete, which may delete the lock of another client; gets and cas prevent that.',
    zh: 'memcached 的 add（带过期时间）与 delete，会误删别人的锁；改用 gets 和 cas 可以避免。',
  },
  source: {
    document: 'interview',
    says: {
      en: 'A lock by SETNX and EXPIRE and one by the add of memcached differ little in speed and convenience.',
      zh: 'SETNX 加 EXPIRE 的锁与 memcached 的 add 相比，性能和易用性相差不大。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'delete',
      about: { en: 'Released by delete.', zh: '用 delete 解锁。' },
      world: {},
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
      ],
      shows: 'foreign-release',
    },
    {
      name: 'cas',
      about: { en: 'Released by gets and cas.', zh: '用 gets 和 cas 解锁。' },
      world: {},
      fails: ['two-inside', 'late-write'],
      unpromised: ['two-inside', 'late-write'],
      shows: 'late-write',
    },
    {
      name: 'whole-seconds',
      about: {
        en: 'An expiry of 1 may end after less than a second, before the work is done.',
        zh: '过期时间 1 可能不到一秒就结束，而工作还没有完成。',
      },
      world: { crashes: 0, pauses: 0, ticks: 10, tickMs: 500 },
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
      ],
      shows: 'two-live-leases',
      scene: 'b.a.bb.a.c',
    },
  ],
  *client({ command, token, variant, enter, work, leave }) {
    if (variant === 'whole-seconds') return yield* addForOneSecond();
    const ok = yield* command`EVAL ${ADD} 2 lock unique ${token} 2`;
    if (ok !== 'STORED') return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    if (variant === 'cas') return yield* compareAndDelete();
    yield* command`DEL lock`;
    return 'done';

    function* addForOneSecond(): Doing<'done' | 'busy'> {
      if ((yield* command`EVAL ${ADD_WHOLE_SECONDS} 1 lock ${token} 1`) !== 'STORED') return 'busy';
      yield* enter({ leaseMs: 1000 });
      yield* work();
      yield* leave();
      yield* command`DEL lock`;
      return 'done';
    }

    function* compareAndDelete(): Doing<'done' | 'lost'> {
      const [value, unique] = String(yield* command`GET lock`).split(' ');
      if (value !== token) return 'lost';
      const stored = yield* command`EVAL ${CAS_EXPIRED} 1 lock ${unique!}`;
      return stored === 'STORED' ? 'done' : 'lost';
    }
  },
};
