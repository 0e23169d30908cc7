import type { Recipe } from '../recipe.ts';
import { TIMESTAMP_RULE, takeByTimestamp } from './take-by-timestamp.ts';

const LEASE = TIMESTAMP_RULE.timeout + TIMESTAMP_RULE.extra;

export const timestampGetsetChecked: Recipe = {
  name: 'timestamp-getset-checked',
  about: {
    en: 'As timestamp-getset, but the client checks its clock before DEL: it can still be paused in between.',
    zh: '与 timestamp-getset 相同，但 DEL 之前先检查是否超时：检查与 DEL 之间仍有窗口。',
  },
  source: {
    document: 'interview',
    says: {
      en: 'The holder compares the time that it took with its lease, and deletes the lock only if it was faster.',
      zh: '持有者把处理时间与超时时间相比，没有超时才删除锁。',
    },
  },
  lockKey: 'lock.foo',
  leaseEnd: Number,
  variants: [
    {
      name: 'window',
      about: {
        en: 'The client is paused between reading its clock and DEL.',
        zh: '客户端在检查时间与 DEL 之间停顿。',
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
      name: 'elapsed',
      about: {
        en: 'The client compares the time that its work took, as the document says; a pause before the work does not count.',
        zh: '像文档那样比较处理时间：开始处理之前的停顿不会被算进去。',
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
      shows: 'silent-loss',
    },
    {
      name: 'no-pause',
      about: { en: 'All clients finish within their lease.', zh: '所有客户端都在租约内完成。' },
      world: { pauses: 0 },
      fails: [],
    },
  ],
  *client(tools) {
    const { command, unixTime, variant, enter, work, leave } = tools;
    const expiry = yield* takeByTimestamp(tools);
    if (expiry === undefined) return 'busy';
    yield* enter({ until: expiry });
    const limit = variant === 'elapsed' ? (yield* unixTime()) + LEASE : expiry;
    yield* work();
    yield* leave();
    if ((yield* unixTime()) >= limit) return 'lost';
    yield* command`DEL lock.foo`;
    return 'done';
  },
};
