import type { Recipe } from '../recipe.ts';
import { TIMESTAMP_RULE, type TimestampRule, takeByTimestamp } from './take-by-timestamp.ts';

/** Variants that follow another reading of the documents, and one without the extra second. */
const RULES: Readonly<Record<string, TimestampRule>> = {
  'still-expired': { ...TIMESTAMP_RULE, taken: 'still-ended' },
  'at-or-before': { ...TIMESTAMP_RULE, ended: '<=' },
  'without-plus-one': { ...TIMESTAMP_RULE, extra: 0, ended: '<=' },
};

export const timestampGetset: Recipe = {
  name: 'timestamp-getset',
  about: {
    en: 'A client that finds the end of the lease in the past takes over the lock by GETSET, if the old value is still the one that it read (C4, C5).',
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
        en: 'A client crashes with the lock; exactly one of the others takes it over.',
        zh: '持有者崩溃后，其余客户端中只有一个能接管。',
      },
      world: { pauses: 0 },
      fails: [],
    },
    {
      name: 'loser-prolongs',
      about: {
        en: 'The translator’s question: the GETSET of the losing client moves the end of the winner’s lease.',
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
        'held-by-none',
      ],
      shows: 'prolonged-by-loser',
      scene: 'aaxa...bbbzbccccc.wbbb',
    },
    {
      name: 'left-by-loser',
      about: {
        en: 'The losing client’s GETSET comes after the holder’s DEL and returns nil: the lock exists again, and no client holds it.',
        zh: '失败者的 GETSET 晚于持有者的 DEL，返回 nil：锁又出现了，却无人持有。',
      },
      world: { clients: 2, crashes: 0 },
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-awake-inside',
        'late-write',
        'held-by-none',
      ],
      shows: 'held-by-none',
    },
    {
      name: 'still-expired',
      about: {
        en: 'The rule of the reference: GETSET has acquired the lock if the returned time has ended, even if it is another value than GET returned.',
        zh: '命令参考的规则：GETSET 返回的时间戳只要已经过期就算成功，不要求与刚才读到的相同。',
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
        'held-by-none',
      ],
      shows: 'prolonged-by-loser',
    },
    {
      name: 'at-or-before',
      about: {
        en: 'The manual’s `<=`, in steps of half a second: with the extra second no lease is cut short.',
        zh: '手册中的 `<=`，以半秒为一步：有了多加的一秒，租约不会被提前接管。',
      },
      world: { crashes: 0, pauses: 0, ticks: 8, tickMs: 500 },
      fails: [],
    },
    {
      name: 'without-plus-one',
      about: {
        en: 'The same without the extra second: a lock is taken over before its lease has ended.',
        zh: '同样的规则，不多加那一秒：租约还没结束，锁就被接管了。',
      },
      world: { crashes: 0, pauses: 0, ticks: 8, tickMs: 500 },
      fails: [
        'two-inside',
        'foreign-release',
        'silent-loss',
        'two-live-leases',
        'two-awake-inside',
        'late-write',
        'held-by-none',
      ],
      shows: 'two-live-leases',
      scene: 'aa.bbbb.aa.bb.ccccc',
    },
    {
      name: 'unchecked-del',
      about: {
        en: 'A holder that was paused for long sends DEL when another client holds the lock.',
        zh: '长时间停顿的持有者执行 DEL 时，锁已归别的客户端。',
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
        'held-by-none',
      ],
      shows: 'foreign-release',
    },
    {
      name: 'skewed-clocks',
      about: {
        en: 'A client whose clock is ahead takes over a lock that has not ended.',
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
        'held-by-none',
      ],
      shows: 'two-awake-inside',
    },
  ],
  *client(tools) {
    const { command, enter, work, leave } = tools;
    const rule = RULES[tools.variant] ?? TIMESTAMP_RULE;
    const expiry = yield* takeByTimestamp(tools, rule);
    if (expiry === undefined) return 'busy';
    yield* enter(rule.ended === '<=' ? { leaseMs: rule.timeout * 1000 } : { until: expiry });
    yield* work();
    yield* leave();
    yield* command`DEL lock.foo`;
    return 'done';
  },
};
