import { holdfastView } from '../holdfast-view.ts';
import type { Recipe } from '../recipe.ts';
import { holdOnce } from './holdfast.ts';

const KEY = 'semaphore:{foo}';
const PERMITS = 2;

/** The number of permits that each client takes. */
const CLIENT_PERMITS: Readonly<Record<string, number>> = { A: 1, B: 2, C: 1, D: 1 };

export const holdfastSemaphore: Recipe = {
  name: 'holdfast-semaphore',
  about: {
    en: 'The same script for a semaphore of two permits, of which one client takes both.',
    zh: '同一脚本实现的信号量：共两个许可，其中一个客户端一次取两个。',
  },
  source: {
    document: 'article',
    says: {
      en: 'A lock that survives pauses is harder than it looks.',
      zh: '能经受停顿的锁比看上去更难。',
    },
  },
  lockKey: KEY,
  slots: PERMITS,
  view: holdfastView(KEY),
  variants: [
    {
      name: 'pause',
      about: {
        en: 'A holder is paused for longer than its lease.',
        zh: '持有者停顿的时间超过租约。',
      },
      world: { ticks: 4 },
      fails: ['two-inside', 'late-write'],
      unpromised: ['two-inside', 'late-write'],
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
  ],
  client: (tools) =>
    holdOnce(tools, {
      key: KEY,
      slots: PERMITS,
      permits: CLIENT_PERMITS[tools.name] ?? 1,
      isFenced: false,
      writes: true,
    }),
};
