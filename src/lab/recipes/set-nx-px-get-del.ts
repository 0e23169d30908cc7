import type { Recipe } from '../recipe.ts';

export const setNxPxGetDel: Recipe = {
  name: 'set-nx-px-get-del',
  about: {
    en: 'A unique token, and GET before DEL: the lease can end between the two.',
    zh: '唯一的随机值，先 GET 比较再 DEL：两条命令之间锁可能到期。',
  },
  source: {
    document: 'SETNX 命令',
    words:
      '在 get 和 del 的间隙出现进程A的锁超时，并且其它进程又获取了锁，然后进程A删掉了其它进程的锁',
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'pause',
      about: {
        en: 'The client is paused between GET and DEL.',
        zh: '客户端在 GET 和 DEL 之间停顿。',
      },
      world: {},
      fails: ['two-inside', 'foreign-release', 'two-live-leases', 'two-awake-inside', 'late-write'],
      shows: 'foreign-release',
    },
  ],
  *client({ command, token, enter, work, leave }) {
    const ok = yield* command`SET lock ${token} NX PX 2000`;
    if (ok !== 'OK') return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    if ((yield* command`GET lock`) !== token) return 'lost';
    yield* command`DEL lock`;
    return 'done';
  },
};
