import type { Doing, Recipe } from '../recipe.ts';
import { ADD, CAS, CAS_EXPIRED, TOUCH } from './memcached-scripts.ts';

export const memcachedTouch: Recipe = {
  name: 'memcached-touch',
  about: {
    en: 'The holder renews the lock of memcached by touch, which compares nothing: after a pause it renews the lock of another client, and believes that it still holds it. gets and cas prevent that.',
    zh: '持有者用 memcached 的 touch 续期，而 touch 不做任何比较：停顿之后续的是别人的锁，自己却以为仍然持有；改用 gets 和 cas 可以避免。',
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
      name: 'touch',
      about: { en: 'Renewed by touch.', zh: '用 touch 续期。' },
      world: {},
      fails: ['two-live-leases', 'two-inside', 'prolonged-by-loser', 'late-write'],
      shows: 'prolonged-by-loser',
    },
    {
      name: 'cas',
      about: { en: 'Renewed by gets and cas.', zh: '用 gets 和 cas 续期。' },
      world: {},
      fails: ['two-inside', 'late-write'],
      unpromised: ['two-inside', 'late-write'],
      shows: 'two-inside',
    },
  ],
  *client({ command, token, variant, enter, extend, sleep, work, leave }) {
    const ok = yield* command`EVAL ${ADD} 2 lock unique ${token} 2`;
    if (ok !== 'STORED') return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* sleep(1000);
    if (!(yield* variant === 'cas' ? compareAndRenew() : touch())) return 'lost';
    yield* extend({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    const [value, unique] = yield* gets();
    if (value !== token) return 'lost';
    const stored = yield* command`EVAL ${CAS_EXPIRED} 1 lock ${unique!}`;
    return stored === 'STORED' ? 'done' : 'lost';

    function* gets(): Doing<string[]> {
      return String(yield* command`GET lock`).split(' ');
    }

    function* touch(): Doing<boolean> {
      return (yield* command`EVAL ${TOUCH} 1 lock 2`) === 'TOUCHED';
    }

    function* compareAndRenew(): Doing<boolean> {
      const [value, unique] = yield* gets();
      if (value !== token) return false;
      const stored = yield* command`EVAL ${CAS} 2 lock unique ${token} ${unique!} 2`;
      return stored === 'STORED';
    }
  },
};
