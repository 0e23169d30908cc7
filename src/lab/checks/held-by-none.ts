import { clientName } from '../choice.ts';
import { isAlive, type State } from '../state.ts';
import type { Check } from './check.ts';

export const heldByNone: Check = {
  name: 'held-by-none',
  about: {
    en: 'A client that does not get the lock leaves a lock that no client holds and that blocks all clients.',
    zh: '没有抢到锁的客户端留下了一把无人持有的锁，挡住所有客户端。',
  },
  ofMove({ events, after }) {
    const { image, writer, nowMs } = after;
    if (image.view !== undefined || image.lock === undefined || isHeld(after)) return undefined;
    const leftMs = image.lock.endMs - nowMs;
    // A client whose reply was lost does not know whether it has the lock.
    const isLeft = events.some(
      (event) => event.kind === 'ended' && event.client === writer && event.ending !== 'gave-up',
    );
    if (!isLeft || leftMs <= 0) return undefined;
    const name = clientName(writer);
    const seconds = leftMs / 1000;
    return {
      en: `${name} does not get the lock, yet has written it: no client holds it, and it blocks all clients for ${seconds} s`,
      zh: `${name} 没有抢到锁却写入了它：无人持有这把锁，它仍会挡住所有客户端 ${seconds} 秒`,
    };
  },
};

/** A crashed holder keeps the lock until its lease ends. */
function isHeld({ holder, clients, nowMs }: State): boolean {
  const client = clients[holder];
  return client !== undefined && (isAlive(client) || client.untilMs > nowMs);
}
