import type { Recipe } from '../recipe.ts';
import { COMPARE_AND_DELETE } from './scripts.ts';

const TAKE_WITH_FENCE = `-- set nx px, and the next fence
if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('incr', KEYS[2])
end
return false`;

export const fenced: Recipe = {
  name: 'fenced',
  about: {
    en: 'Every grant has a fence larger than all earlier ones, and the resource refuses a write with an older fence.',
    zh: '每次加锁都得到一个递增的防护令牌（fencing token），资源拒绝带旧令牌的写入。',
  },
  source: {
    document: 'article',
    says: {
      en: 'A process that is stopped by its garbage collector acts after its lock has expired: harder than it looks.',
      zh: '进程被 GC 停住后，会在锁已到期时继续操作：问题比看上去更难。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'pause',
      about: {
        en: 'A holder is paused for longer than its lease; its late write is refused.',
        zh: '持有者停顿的时间超过租约，它迟到的写入被拒绝。',
      },
      world: {},
      fails: ['two-inside'],
      unpromised: ['two-inside'],
      shows: 'two-inside',
    },
    {
      name: 'no-pause',
      about: { en: 'All clients finish within their lease.', zh: '所有客户端都在租约内完成。' },
      world: { pauses: 0 },
      fails: [],
    },
  ],
  *client({ command, token, enter, work, leave }) {
    const fence = yield* command`EVAL ${TAKE_WITH_FENCE} 2 lock fence ${token} 2000`;
    if (fence === null) return 'busy';
    yield* enter({ leaseMs: 2000 });
    const accepted = yield* work(Number(fence));
    yield* leave();
    const released = yield* command`EVAL ${COMPARE_AND_DELETE} 1 lock ${token}`;
    return accepted && released === 1 ? 'done' : 'lost';
  },
};
