import { clientName } from '../choice.ts';
import { isAlive, type State } from '../state.ts';
import { NEVER } from '../store.ts';
import type { World } from '../world.ts';
import type { Check } from './check.ts';

/** How long the clients try. A recipe that recovers from a lock without expiry needs less. */
const TRYING_MS = 20_000;

export const heldForEver: Check = {
  name: 'held-for-ever',
  about: {
    en: 'The lock has no expiry, the client that wrote it is gone, and no new client can acquire it.',
    zh: '锁没有到期时间，写入它的客户端已经不在，后来的客户端也无法改变。',
  },
  isCostly: true,
  ofState(state, world) {
    const { image, writer, clients } = state;
    if (image.lock === undefined || image.lock.endMs !== NEVER || writer < 0) return undefined;
    if (isAlive(clients[writer]!)) return undefined;
    if (canBeTaken(state, world)) return undefined;
    const name = clientName(writer);
    return {
      en: `the lock that ${name} wrote has no expiry, and ${name} is gone: it is held for ever`,
      zh: `${name} 写入的锁没有到期时间，而 ${name} 已经不在：锁永远不会释放`,
    };
  },
};

/** Returns true if, without more faults, a client gets the lock, changes it or gives it an expiry. */
function canBeTaken(state: State, world: World): boolean {
  const { writer, image, nowMs } = state;
  for (let at = world.withNewClient(state, writer); at.nowMs <= nowMs + TRYING_MS; ) {
    const { lock } = at.image;
    if (at.clients.some((client) => client.inside && isAlive(client))) return true;
    if (lock?.value !== image.lock!.value || lock.endMs !== NEVER) return true;
    const next = world.fairChoice(at);
    if (next === undefined) return false;
    at = world.step(at, next).after;
  }
  return false;
}
