import { holdfastView } from '../holdfast-view.ts';
import type { Recipe } from '../recipe.ts';
import { holdOnce } from './holdfast.ts';

const KEY = 'rw:{foo}';
/** A reader takes one of these permits, a writer all. */
const READERS = 2 ** 30;

/** The clients that write; all others read. */
const WRITERS: Readonly<Record<string, string>> = { 'two-writers': 'AB' };

export const holdfastReadWrite: Recipe = {
  name: 'holdfast-read-write',
  about: {
    en: 'The same script for many readers or one writer, in order of arrival.',
    zh: '同一脚本实现的读写锁：多个读者或一个写者，按到达顺序。',
  },
  source: {
    document: 'article',
    says: {
      en: 'A lock that survives pauses is harder than it looks.',
      zh: '能经受停顿的锁比看上去更难。',
    },
  },
  lockKey: KEY,
  slots: READERS,
  view: holdfastView(KEY),
  variants: [
    {
      name: 'pause',
      about: {
        en: 'One client writes, the others read; one of them is paused for longer than its lease.',
        zh: '一个写者、其余为读者；其中一个停顿的时间超过租约。',
      },
      world: { ticks: 3 },
      fails: ['two-inside'],
      unpromised: ['two-inside'],
      shows: 'two-inside',
    },
    {
      name: 'two-writers',
      about: {
        en: 'Two clients write, the others read; one is paused, and its late write is refused.',
        zh: '两个写者、其余为读者；停顿者迟到的写入被拒绝。',
      },
      world: { ticks: 4, crashes: 0 },
      fails: ['two-inside'],
      unpromised: ['two-inside'],
      shows: 'two-inside',
    },
    {
      name: 'lost-reply',
      about: {
        en: 'A reply or a message is lost; the client repeats its request and gets the same reply.',
        zh: '回复或消息丢失：客户端重发请求，得到同样的回复。',
      },
      world: { ticks: 4, pauses: 0, lostReplies: 1 },
      fails: [],
    },
  ],
  client: (tools) => {
    const writes = (WRITERS[tools.variant] ?? 'A').includes(tools.name);
    const permits = writes ? READERS : 1;
    return holdOnce(tools, { key: KEY, slots: READERS, permits, isFenced: true, writes });
  },
};
