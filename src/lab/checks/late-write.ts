import { clientName } from '../choice.ts';
import type { Check } from './check.ts';

export const lateWrite: Check = {
  name: 'late-write',
  about: {
    en: 'The resource accepts a write of an earlier holder after one of a later holder.',
    zh: '资源在接受后来持有者的写入之后，又接受了先前持有者的写入。',
  },
  ofMove({ events }) {
    for (const event of events) {
      if (event.kind !== 'wrote' || !event.accepted || !event.isLate) continue;
      const name = clientName(event.client);
      return {
        en: `the resource accepts the late write of ${name}, after a write of a later holder`,
        zh: `资源接受了 ${name} 迟到的写入，而后来的持有者已经写过`,
      };
    }
    return undefined;
  },
};
