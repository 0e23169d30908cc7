import { clientName } from '../choice.ts';
import type { Check } from './check.ts';

export const foreignRelease: Check = {
  name: 'foreign-release',
  about: {
    en: 'A client removes the lock while the lease of another has not ended.',
    zh: '一个客户端删除了另一个客户端尚未到期的锁。',
  },
  ofMove({ choice, before, after, step }) {
    const { holder, image, nowMs, clients } = before;
    if (step?.kind !== 'command' || holder < 0 || holder === choice.client) return undefined;
    if (image.lock === undefined || after.image.lock !== undefined) return undefined;
    if (clients[holder]!.untilMs <= nowMs) return undefined;
    const [thief, owner] = [clientName(choice.client), clientName(holder)];
    return {
      en: `${thief} removes the lock that ${owner} holds`,
      zh: `${thief} 删除了 ${owner} 正持有的锁`,
    };
  },
};
