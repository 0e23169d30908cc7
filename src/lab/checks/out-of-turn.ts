import { ownerName } from '../choice.ts';
import { passedOver } from '../store-view.ts';
import type { Check } from './check.ts';

export const outOfTurn: Check = {
  name: 'out-of-turn',
  about: {
    en: 'A client is granted the lock while one that stood before it in line still waits.',
    zh: '排在前面的客户端仍在等待，后来者却先得到了锁。',
  },
  ofMove({ before, after }) {
    if (!before.image.view || !after.image.view) return undefined;
    const turn = passedOver(before.image.view, after.image.view);
    if (turn === undefined) return undefined;
    const [served, passed] = [ownerName(turn.served), ownerName(turn.passed)];
    return {
      en: `${served} is granted the lock, although ${passed} stands in line before it`,
      zh: `${served} 得到了锁，但排在它前面的 ${passed} 仍在等待`,
    };
  },
};
