import { clientName, ownerName } from '../choice.ts';
import type { Text } from '../recipe.ts';
import { prolonged } from '../store-view.ts';
import type { Move } from '../world.ts';
import type { Check } from './check.ts';

export const prolongedByLoser: Check = {
  name: 'prolonged-by-loser',
  about: {
    en: 'A client that does not get the lock moves the end of its lease.',
    zh: '没有抢到锁的客户端推迟了锁的到期时间。',
  },
  ofMove(move) {
    const { choice, before, after, step } = move;
    if (before.image.view !== undefined) return byTheBooks(move);
    const [was, is] = [before.image.lock, after.image.lock];
    if (step?.kind !== 'command' || was === undefined || is === undefined) return undefined;
    // A lock that has ended is taken over, even if the client has yet to learn that it has it.
    if (was.endMs <= before.nowMs) return undefined;
    const owner = after.holder >= 0 ? after.holder : before.writer;
    if (is.endMs <= was.endMs || owner === choice.client) return undefined;
    return prolongs(clientName(choice.client), clientName(owner), is.endMs - was.endMs);
  },
};

function byTheBooks({ choice, before, after, step }: Move): Text | undefined {
  if (step?.kind !== 'command') return undefined;
  const name = clientName(choice.client);
  const [was, is] = [before.image.view!, after.image.view!];
  const found = prolonged(was, is, (owner) => ownerName(owner) === name);
  return found && prolongs(name, ownerName(found.grant.owner), found.byMs);
}

function prolongs(loser: string, holder: string, byMs: number): Text {
  const seconds = byMs / 1000;
  return {
    en: `${loser} does not get the lock, yet makes ${holder}'s lease end ${seconds} s later`,
    zh: `${loser} 没有抢到锁，却把 ${holder} 的租约推迟了 ${seconds} 秒`,
  };
}
