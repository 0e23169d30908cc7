import type { Recipe } from '../recipe.ts';
import { ADD, CAS_EXPIRED, SET_IN_FULL_MEMORY } from './memcached-scripts.ts';

export const memcachedEviction: Recipe = {
  name: 'memcached-eviction',
  about: {
    en: 'A lock in a memcached whose memory is full: a value that any client stores evicts the lock, which has time left, and two clients hold it.',
    zh: '锁所在的 memcached 内存已满：任何客户端写入一个值，都会淘汰尚未到期的锁，于是两个客户端同时持有。',
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
      name: 'full',
      about: {
        en: 'Each client stores a value before it requests the lock; the memory is full.',
        zh: '每个客户端在加锁之前先写入一个值，而内存已满。',
      },
      world: { crashes: 0, pauses: 0 },
      fails: ['two-live-leases', 'two-awake-inside', 'two-inside', 'foreign-release', 'late-write'],
      shows: 'two-live-leases',
    },
    {
      name: 'own-memory',
      about: {
        en: 'The locks have a memcached of their own that evicts nothing (-M).',
        zh: '锁单独使用一个不淘汰数据（-M）的 memcached。',
      },
      world: { pauses: 0 },
      fails: [],
    },
  ],
  *client({ command, token, variant, enter, work, leave }) {
    if (variant !== 'own-memory') yield* command`EVAL ${SET_IN_FULL_MEMORY} 1 lock`;
    const ok = yield* command`EVAL ${ADD} 2 lock unique ${token} 2`;
    if (ok !== 'STORED') return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    const [value, unique] = String(yield* command`GET lock`).split(' ');
    if (value !== token) return 'lost';
    const stored = yield* command`EVAL ${CAS_EXPIRED} 1 lock ${unique!}`;
    return stored === 'STORED' ? 'done' : 'lost';
  },
};
