import type { Recipe } from '../recipe.ts';
import { takeByTimestamp } from './take-by-timestamp.ts';

export const timestampGetset: Recipe = {
  name: 'timestamp-getset',
  about: {
    en: 'Who finds the lease’s end in the past takes the lock over by GETSET, if the old value is still the one that it found (C4, C5).',
    zh: '发现过期后用 GETSET 接管，旧值仍是刚才读到的值才算成功（C4、C5）。',
  },
  source: {
    document: 'reference',
    says: {
      en: 'C4 takes an expired lock by GETSET, and has it if the old value is still the expired one; else C5 was faster.',
      zh: 'C4 用 GETSET 接管过期的锁：旧值仍是过期时间戳才算成功，否则说明 C5 更快。',
    },
  },
  lockKey: 'lock.foo',
  leaseEnd: Number,
  variants: [
    {
      name: 'take-over',
      about: {
        en: 'A client dies with the lock; one of the others takes it over, and only one.',
        zh: '持有者崩溃后，其余客户端中只有一个能接管。',
      },
      world: { pauses: 0 },
      fails: [],
    },
    {
      name: 'loser-prolongs',
      about: {
        en: 'The translator’s question: the GETSET of the one who loses moves the end of the winner’s lease.',
        zh: '译者之问：C4 的 GETSET 失败了，但 C5 的锁的过期时间被它修改了。',
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
      shows: 'prolonged-by-loser',
    },
    {
      name: 'unchecked-del',
      about: {
        en: 'A holder that was paused for long sends DEL when the lock is another’s.',
        zh: '长时间停顿的持有者执行 DEL 时，锁已在别人手上。',
      },
      world: { crashes: 0 },
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
    {
      name: 'skewed-clocks',
      about: {
        en: 'A client whose clock is ahead takes a lock over that has not ended.',
        zh: '时钟偏快的客户端接管了尚未到期的锁。',
      },
      world: { crashes: 0, pauses: 0, skews: 1 },
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
        'prolonged-by-loser',
      ],
      shows: 'two-awake-inside',
    },
  ],
  *client(tools) {
    const { command, enter, work, leave } = tools;
    const expiry = yield* takeByTimestamp(tools);
    if (expiry === undefined) return 'busy';
    yield* enter({ until: expiry });
    yield* work();
    yield* leave();
    yield* command`DEL lock.foo`;
    return 'done';
  },
};
