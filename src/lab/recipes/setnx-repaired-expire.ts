import type { Recipe } from '../recipe.ts';

export const setnxRepairedExpire: Recipe = {
  name: 'setnx-repaired-expire',
  about: {
    en: 'SETNX, then EXPIRE; a client that finds the lock without expiry sets one.',
    zh: '先 SETNX 再 EXPIRE；没抢到锁的客户端若发现锁没有到期时间，就替它补上。',
  },
  source: {
    document: 'interview',
    says: {
      en: 'One kind of lock has a timeout, so that a crash cannot leave it for ever.',
      zh: '有一种锁带超时限制，崩溃后不会永远留下。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'crash',
      about: {
        en: 'A client crashes between SETNX and EXPIRE; the next client sets the expiry.',
        zh: '客户端在 SETNX 和 EXPIRE 之间崩溃，下一个客户端补上到期时间。',
      },
      world: { pauses: 0 },
      fails: [],
    },
    {
      name: 'pause',
      about: {
        en: 'A holder is slower than its lease, or is paused before its own EXPIRE.',
        zh: '持有者比租约更慢，或在自己执行 EXPIRE 之前停顿。',
      },
      world: {},
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
        'prolonged-by-loser',
      ],
      shows: 'foreign-release',
    },
  ],
  *client({ command, enter, work, leave }) {
    const ok = yield* command`SETNX lock 1`;
    if (ok !== 1) {
      if ((yield* command`TTL lock`) === -1) yield* command`EXPIRE lock 2`;
      return 'busy';
    }
    yield* command`EXPIRE lock 2`;
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    yield* command`DEL lock`;
    return 'done';
  },
};
