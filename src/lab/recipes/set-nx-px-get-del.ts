import type { Recipe } from '../recipe.ts';

export const setNxPxGetDel: Recipe = {
  name: 'set-nx-px-get-del',
  about: {
    en: 'A unique token, and GET before DEL: the lease can end between the two.',
    zh: '唯一的随机值，先 GET 比较再 DEL：两条命令之间锁可能到期。',
  },
  source: {
    document: 'notes',
    says: {
      en: 'Between GET and DEL the lease can end and another process can take the lock; DEL then removes that lock.',
      zh: 'GET 与 DEL 之间租约可能到期、锁被别的进程拿走，DEL 删掉的就是别人的锁。',
    },
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
    {
      name: 'unchecked',
      about: {
        en: 'The sample as printed: it ignores the reply of SET, so all clients continue.',
        zh: '照示例原样：不检查 SET 的回复，所有客户端都会继续执行。',
      },
      world: { crashes: 0, pauses: 0 },
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
      ],
      shows: 'two-awake-inside',
    },
  ],
  *client({ command, token, variant, enter, work, leave }) {
    const ok = yield* command`SET lock ${token} NX PX 2000`;
    if (ok !== 'OK' && variant !== 'unchecked') return 'busy';
    yield* enter({ leaseMs: 2000 });
    yield* work();
    yield* leave();
    if ((yield* command`GET lock`) !== token) return 'lost';
    yield* command`DEL lock`;
    return 'done';
  },
};
