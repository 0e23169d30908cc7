import type { Recipe } from '../recipe.ts';
import { COMPARE_AND_DELETE } from './scripts.ts';

export const setNxPxLuaDel: Recipe = {
  name: 'set-nx-px-lua-del',
  about: {
    en: 'A unique token and a script that compares and deletes: no client deletes the lock of another, but a paused holder still acts late.',
    zh: '唯一的随机值加上 Lua 比较并删除：不会误删别人的锁，但停顿过的持有者仍会迟到地操作。',
  },
  source: {
    document: 'notes',
    says: {
      en: 'A script that compares and deletes in one step is one right way to release.',
      zh: '用脚本一步完成比较和删除，是释放锁的正确做法之一。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'pause',
      about: {
        en: 'A holder is paused for longer than its lease.',
        zh: '持有者停顿的时间超过租约。',
      },
      world: {},
      fails: ['two-inside', 'late-write'],
      unpromised: ['two-inside', 'late-write'],
      shows: 'late-write',
    },
    {
      name: 'no-pause',
      about: { en: 'All clients finish within their lease.', zh: '所有客户端都在租约内完成。' },
      world: { pauses: 0 },
      fails: [],
    },
    {
      name: 'lost-reply',
      about: {
        en: 'A reply is lost and the client gives up: the lease ends by itself.',
        zh: '回复丢失、客户端放弃：租约自行到期。',
      },
      world: { pauses: 0, lostReplies: 1 },
      fails: [],
    },
    {
      name: 'skewed-clocks',
      about: {
        en: 'Clocks are skewed, but only the store’s clock counts.',
        zh: '客户端时钟有偏差，但只有存储的时钟起作用。',
      },
      world: { pauses: 0, skews: 2 },
      fails: [],
    },
  ],
  *client({ command, token, enter, work, leave }) {
    const ok = yield* command`SET lock ${token} NX PX 2000`;
    if (ok !== 'OK') return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    const released = yield* command`EVAL ${COMPARE_AND_DELETE} 1 lock ${token}`;
    return released === 1 ? 'done' : 'lost';
  },
};
