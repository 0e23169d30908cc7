import { clientName } from '../choice.ts';
import { isAlive } from '../state.ts';
import { NEVER } from '../store.ts';
import type { Check } from './check.ts';

export const heldForEver: Check = {
  name: 'held-for-ever',
  about: {
    en: 'The lock has no end, the client that wrote it is gone, and no new client can change that.',
    zh: '锁没有到期时间，写入它的客户端已经不在，后来的客户端也无法改变。',
  },
  ofState(state, world) {
    const { image, writer, clients } = state;
    if (image.lock === undefined || image.lock.endMs !== NEVER || writer < 0) return undefined;
    if (isAlive(clients[writer]!)) return undefined;
    const { lock } = world.afterAttempt(state, writer).image;
    if (lock?.value !== image.lock.value || lock.endMs !== NEVER) return undefined;
    const name = clientName(writer);
    return {
      en: `the lock that ${name} wrote has no end, and ${name} is gone: it is held for ever`,
      zh: `${name} 写入的锁没有到期时间，而 ${name} 已经不在：锁永远不会释放`,
    };
  },
};
