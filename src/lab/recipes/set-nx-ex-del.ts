import type { Recipe } from '../recipe.ts';

export const setNxExDel: Recipe = {
  name: 'set-nx-ex-del',
  about: {
    en: 'SET NX EX acquires the lock in one command; a plain DEL may delete the lock of another client.',
    zh: '一条 SET NX EX 加锁；直接 DEL 解锁，可能删掉别人的锁。',
  },
  source: {
    document: 'article',
    says: {
      en: 'A request that takes longer than its lease and then deletes the lock without a check deletes the lock of the next one.',
      zh: '更新时间超过租约的请求不加判断就删锁，删掉的是下一个请求的锁。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'pause',
      about: { en: 'A holder is slower than its lease.', zh: '持有者比租约更慢。' },
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
      name: 'no-pause',
      about: { en: 'All clients finish within their lease.', zh: '所有客户端都在租约内完成。' },
      world: { pauses: 0 },
      fails: [],
    },
  ],
  *client({ command, enter, work, leave }) {
    const ok = yield* command`SET lock 1 NX EX 2`;
    if (ok !== 'OK') return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    yield* command`DEL lock`;
    return 'done';
  },
};
