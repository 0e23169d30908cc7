import { clientName } from '../choice.ts';
import type { Check } from './check.ts';

export const silentLoss: Check = {
  name: 'silent-loss',
  about: {
    en: 'A client ends without an error although another client got the lock while it was inside.',
    zh: '客户端以为一切正常地结束，其实它在临界区内时锁已被别人持有。',
  },
  ofMove({ events }) {
    for (const event of events) {
      if (event.kind !== 'ended' || event.ending !== 'done' || event.followers === 0) continue;
      const name = clientName(event.client);
      const other = clientName(31 - Math.clz32(event.followers));
      return {
        en: `${name} ends without an error, although ${other} got the lock while ${name} was inside`,
        zh: `${name} 以为一切正常，其实它在临界区内时 ${other} 已经拿到了锁`,
      };
    }
    return undefined;
  },
};
