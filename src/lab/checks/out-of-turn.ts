import { ownerName } from '../choice.ts';
import type { Text } from '../recipe.ts';
import { passedOver, type StoreView, swapped } from '../store-view.ts';
import type { Check } from './check.ts';

export const outOfTurn: Check = {
  name: 'out-of-turn',
  about: {
    en: 'A client gets the lock, or a place in the queue, before a client that came first and still waits.',
    zh: '先来的客户端仍在等待，后来者却先得到了锁，或排到了它的前面。',
  },
  ofMove({ before, after }) {
    const [was, is] = [before.image.view, after.image.view];
    if (!was || !is) return undefined;
    return served(was, is, before.nowMs) ?? moved(was, is);
  },
};

function served(before: StoreView, after: StoreView, nowMs: number): Text | undefined {
  const turn = passedOver(before, after, nowMs);
  if (turn === undefined) return undefined;
  const [served, passed] = [ownerName(turn.served), ownerName(turn.passed)];
  return {
    en: `${served} is granted the lock, although ${passed} is ahead of it in the queue`,
    zh: `${served} 得到了锁，但排在它前面的 ${passed} 仍在等待`,
  };
}

function moved(before: StoreView, after: StoreView): Text | undefined {
  const turn = swapped(before, after);
  if (turn === undefined) return undefined;
  const [ahead, behind] = [ownerName(turn.ahead), ownerName(turn.behind)];
  return {
    en: `${behind} loses its place in the queue to ${ahead}, which came later`,
    zh: `${behind} 的排队位置被后来的 ${ahead} 占去`,
  };
}
