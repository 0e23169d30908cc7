import { clientName } from '../choice.ts';
import type { Check } from './check.ts';

export const prolongedByLoser: Check = {
  name: 'prolonged-by-loser',
  about: {
    en: 'A client that does not get the lock moves the end of its lease.',
    zh: '没有抢到锁的客户端推迟了锁的到期时间。',
  },
  ofMove({ choice, before, after, step }) {
    const [was, is] = [before.image.lock, after.image.lock];
    if (step?.kind !== 'command' || was === undefined || is === undefined) return undefined;
    const owner = after.holder >= 0 ? after.holder : before.writer;
    if (is.endMs <= was.endMs || owner === choice.client) return undefined;
    const laterSeconds = (is.endMs - was.endMs) / 1000;
    const [loser, holder] = [clientName(choice.client), clientName(owner)];
    return {
      en: `${loser} does not get the lock, yet makes ${holder}'s lease end ${laterSeconds} s later`,
      zh: `${loser} 没有抢到锁，却把 ${holder} 的租约推迟了 ${laterSeconds} 秒`,
    };
  },
};
