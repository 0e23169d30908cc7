import type { Recipe } from '../recipe.ts';

export const setnxOnly: Recipe = {
  name: 'setnx-only',
  about: {
    en: 'SETNX acquires the lock, DEL releases it; if the client crashes in between, the lock stays for ever.',
    zh: '用 SETNX 加锁、DEL 解锁；客户端中途退出后，锁永远存在。',
  },
  source: {
    document: 'article',
    says: {
      en: 'A process that crashes after SETNX leaves the lock behind, and the cache is never refreshed again.',
      zh: '请求在 SETNX 之后意外退出，锁留了下来，缓存从此不再更新。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'crash',
      about: { en: 'A client crashes while it holds the lock.', zh: '客户端在持有锁时崩溃。' },
      world: { pauses: 0 },
      fails: ['held-for-ever', 'waiter-not-served'],
      shows: 'held-for-ever',
    },
    {
      name: 'lost-reply',
      about: {
        en: 'The reply to SETNX is lost, and the client gives up.',
        zh: 'SETNX 的回复丢失，客户端放弃。',
      },
      world: { crashes: 0, pauses: 0, lostReplies: 1 },
      fails: ['held-for-ever', 'waiter-not-served'],
      shows: 'held-for-ever',
    },
    {
      name: 'no-crash',
      about: { en: 'No client crashes.', zh: '没有客户端崩溃。' },
      world: { crashes: 0 },
      fails: [],
    },
  ],
  *client({ command, enter, work, leave }) {
    const ok = yield* command`SETNX lock 1`;
    if (ok !== 1) return 'busy';
    yield* enter();
    yield* work();
    yield* leave();
    yield* command`DEL lock`;
    return 'done';
  },
};
