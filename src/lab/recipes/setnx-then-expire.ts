import type { Recipe } from '../recipe.ts';

export const setnxThenExpire: Recipe = {
  name: 'setnx-then-expire',
  about: {
    en: 'SETNX, then EXPIRE as a second command: a crash between the two leaves a lock without expiry.',
    zh: '先 SETNX 再 EXPIRE，两条命令之间崩溃，锁就没有到期时间。',
  },
  source: {
    document: 'interview',
    says: {
      en: 'A process that crashes or is restarted between SETNX and EXPIRE leaves a lock that nothing releases.',
      zh: '进程在 SETNX 与 EXPIRE 之间崩溃或重启，锁就无人释放。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'crash',
      about: { en: 'A client crashes between the two commands.', zh: '客户端在两条命令之间崩溃。' },
      world: { pauses: 0 },
      fails: ['held-for-ever', 'waiter-not-served'],
      shows: 'held-for-ever',
    },
    {
      name: 'pause',
      about: {
        en: 'A holder is slower than its lease, and deletes the lock of the next holder.',
        zh: '持有者比租约更慢，删掉了下一个持有者的锁。',
      },
      world: { crashes: 0 },
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
      name: 'no-fault',
      about: {
        en: 'No client crashes or is paused: option 1 serves everyday work.',
        zh: '没有崩溃也没有停顿：方案一足以应付日常工作。',
      },
      world: { crashes: 0, pauses: 0 },
      fails: [],
    },
  ],
  *client({ command, enter, work, leave }) {
    const ok = yield* command`SETNX lock 1`;
    if (ok !== 1) return 'busy';
    yield* command`EXPIRE lock 2`;
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    yield* command`DEL lock`;
    return 'done';
  },
};
