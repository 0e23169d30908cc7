import type { Recipe } from '../recipe.ts';

export const multiSetnxExpire: Recipe = {
  name: 'multi-setnx-expire',
  about: {
    en: 'SETNX and EXPIRE inside MULTI/EXEC: the EXPIRE of a losing client extends the lease of the holder.',
    zh: '把 SETNX 和 EXPIRE 放进 MULTI/EXEC：没抢到锁的客户端也会刷新过期时间。',
  },
  source: {
    document: 'article',
    says: {
      en: 'A request that does not get the lock still refreshes its expiry; with many requests the lock stays for ever.',
      zh: '没抢到锁的请求照样刷新过期时间；请求密集时，锁会一直存在。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'crash',
      about: {
        en: 'The lock of a crashed holder never expires while other clients keep trying.',
        zh: '持有者已经崩溃，但只要其他客户端不断尝试，锁就一直有效。',
      },
      world: { pauses: 0 },
      fails: ['prolonged-by-loser', 'waiter-not-served'],
      shows: 'waiter-not-served',
      scene: 'axabc.bc.bc.bc.',
    },
    {
      name: 'no-fault',
      about: {
        en: 'Without any fault a losing client extends the lease of the holder.',
        zh: '没有任何故障，没抢到锁的客户端也会延长持有者的租约。',
      },
      world: { crashes: 0, pauses: 0 },
      fails: ['prolonged-by-loser'],
      shows: 'prolonged-by-loser',
    },
  ],
  *client({ transaction, command, enter, work, leave }) {
    const [ok] = yield* transaction('SETNX lock 1', 'EXPIRE lock 2');
    if (ok !== 1) return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    yield* command`DEL lock`;
    return 'done';
  },
};
