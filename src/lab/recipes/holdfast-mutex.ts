import { holdfastView } from '../holdfast-view.ts';
import type { Recipe } from '../recipe.ts';
import { holdOnce } from './holdfast.ts';

const KEY = 'lock:{foo}';

export const holdfastMutex: Recipe = {
  name: 'holdfast-mutex',
  about: {
    en: 'The script of this library: a release hands the lock over to the first waiter, and every grant has a fence.',
    zh: '本库的脚本：释放时把锁直接交给队首，每次授予都带递增的防护令牌（fencing token）。',
  },
  source: {
    document: 'notes',
    says: {
      en: 'A task that must not run twice needs a lock that lasts long enough or is extended regularly.',
      zh: '不允许重复执行的任务，锁要足够长，或定期续期。',
    },
  },
  lockKey: KEY,
  view: holdfastView(KEY),
  variants: [
    {
      name: 'pause',
      about: {
        en: 'A holder is paused for longer than its lease; its late write is refused.',
        zh: '持有者停顿的时间超过租约，它迟到的写入被拒绝。',
      },
      world: { ticks: 4 },
      fails: ['two-inside'],
      unpromised: ['two-inside'],
      shows: 'two-inside',
    },
    {
      name: 'no-pause',
      about: { en: 'A client crashes, and none is paused.', zh: '有客户端崩溃，没有停顿。' },
      world: { ticks: 9, pauses: 0 },
      fails: [],
    },
    {
      name: 'lost-reply',
      about: {
        en: 'A reply or a message is lost; the client repeats its request and gets the same reply.',
        zh: '回复或消息丢失：客户端重发请求，得到同样的回复。',
      },
      world: { ticks: 5, pauses: 0, crashes: 0, lostReplies: 1 },
      fails: [],
    },
    {
      name: 'unfenced',
      about: {
        en: 'The same pause, and a resource that does not check the fence.',
        zh: '同样的停顿，但资源不检查防护令牌。',
      },
      world: { ticks: 4, crashes: 0 },
      fails: ['two-inside', 'late-write'],
      unpromised: ['two-inside', 'late-write'],
      shows: 'late-write',
    },
  ],
  client: (tools) =>
    holdOnce(tools, { key: KEY, isFenced: tools.variant !== 'unfenced', writes: true }),
};
