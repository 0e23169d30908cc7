import { ownerName } from '../choice.ts';
import { unraised } from '../store-view.ts';
import type { Check } from './check.ts';

export const fenceOrder: Check = {
  name: 'fence-order',
  about: {
    en: 'A grant carries a fence that is not larger than those of all grants before it.',
    zh: '某次授予的编号不大于此前所有授予的编号。',
  },
  ofMove({ before, after }) {
    if (!before.image.view || !after.image.view) return undefined;
    const grant = unraised(before.image.view, after.image.view);
    if (grant === undefined) return undefined;
    const name = ownerName(grant.owner);
    return {
      en: `${name} is granted the lock with fence ${grant.fence}, which was given before`,
      zh: `${name} 得到的编号 ${grant.fence} 此前已经用过`,
    };
  },
};
