import { clientName, ownerName } from '../choice.ts';
import type { Text } from '../recipe.ts';
import { cutShort } from '../store-view.ts';
import type { Move } from '../world.ts';
import type { Check } from './check.ts';

export const foreignRelease: Check = {
  name: 'foreign-release',
  about: {
    en: 'A client removes the lock while the lease of another has not ended.',
    zh: '一个客户端删除了另一个客户端尚未到期的锁。',
  },
  ofMove(move) {
    const { choice, before, after, step } = move;
    if (before.image.view !== undefined) return byView(move);
    const { holder, image, nowMs, clients } = before;
    if (step?.kind !== 'command' || holder < 0 || holder === choice.client) return undefined;
    if (image.lock === undefined || after.image.lock !== undefined) return undefined;
    if (clients[holder]!.untilMs <= nowMs) return undefined;
    return removes(clientName(choice.client), clientName(holder));
  },
};

function byView({ choice, before, after, step }: Move): Text | undefined {
  if (step?.kind !== 'command') return undefined;
  const name = clientName(choice.client);
  const [was, is] = [before.image.view!, after.image.view!];
  const cut = cutShort(was, is, before.nowMs, (owner) => ownerName(owner) === name);
  return cut && removes(name, ownerName(cut.owner));
}

function removes(thief: string, owner: string): Text {
  return {
    en: `${thief} removes the lock that ${owner} holds`,
    zh: `${thief} 删除了 ${owner} 正持有的锁`,
  };
}
