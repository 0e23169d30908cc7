import { clientName, ownerName } from '../choice.ts';
import type { Text } from '../recipe.ts';
import { extendedLease } from '../store-view.ts';
import type { Move } from '../world.ts';
import type { Check } from './check.ts';

export const prolongedByLoser: Check = {
  name: 'prolonged-by-loser',
  about: {
    en: 'A client that does not get the lock extends the holder’s lease.',
    zh: '没有抢到锁的客户端推迟了锁的到期时间。',
  },
  ofMove(move) {
    const { choice, before, after, step } = move;
    if (before.image.view !== undefined) return byView(move);
    const [was, is] = [before.image.lock, after.image.lock];
    if (step?.kind !== 'command' || was === undefined || is === undefined) return undefined;
    // A client that writes to an expired lock takes it over, even before it receives the reply.
    if (was.endMs <= before.nowMs) return undefined;
    const owner = after.holder >= 0 ? after.holder : before.writer;
    if (is.endMs <= was.endMs || owner === choice.client) return undefined;
    return extension(clientName(choice.client), clientName(owner), is.endMs - was.endMs);
  },
};

function byView({ choice, before, after, step }: Move): Text | undefined {
  if (step?.kind !== 'command') return undefined;
  const name = clientName(choice.client);
  const [was, is] = [before.image.view!, after.image.view!];
  const found = extendedLease(was, is, (owner) => ownerName(owner) === name);
  return found && extension(name, ownerName(found.grant.owner), found.byMs);
}

function extension(loser: string, holder: string, byMs: number): Text {
  const seconds = byMs / 1000;
  return {
    en: `${loser} does not get the lock, yet extends ${holder}'s lease by ${seconds} s`,
    zh: `${loser} 没有抢到锁，却把 ${holder} 的租约推迟了 ${seconds} 秒`,
  };
}
