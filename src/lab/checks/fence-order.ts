import { ownerName } from '../choice.ts';
import { unraised } from '../store-view.ts';
import type { Check } from './check.ts';

export const fenceOrder: Check = {
  name: 'fence-order',
  about: {
    en: 'A grant has a fence that is not larger than those of all earlier grants.',
    zh: '某次授予的防护令牌（fencing token）不大于此前的所有令牌。',
  },
  ofMove({ before, after }) {
    if (!before.image.view || !after.image.view) return undefined;
    const grant = unraised(before.image.view, after.image.view);
    if (grant === undefined) return undefined;
    const name = ownerName(grant.owner);
    return {
      en: `${name} is granted the lock with fence ${grant.fence}, which was granted before`,
      zh: `${name} 得到的防护令牌 ${grant.fence} 此前已经用过`,
    };
  },
};
