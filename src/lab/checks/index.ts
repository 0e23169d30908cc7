import type { Check } from './check.ts';
import { fenceOrder } from './fence-order.ts';
import { foreignRelease } from './foreign-release.ts';
import { heldByNone } from './held-by-none.ts';
import { heldForEver } from './held-for-ever.ts';
import { lateWrite } from './late-write.ts';
import { outOfTurn } from './out-of-turn.ts';
import { prolongedByLoser } from './prolonged-by-loser.ts';
import { silentLoss } from './silent-loss.ts';
import { twoAwakeInside, twoInside, twoLiveLeases } from './two-at-once.ts';
import { waiterNotServed } from './waiter-not-served.ts';

/** All checks, the most important first. */
export const CHECKS: readonly Check[] = [
  twoLiveLeases,
  twoAwakeInside,
  twoInside,
  foreignRelease,
  heldForEver,
  heldByNone,
  prolongedByLoser,
  lateWrite,
  silentLoss,
  fenceOrder,
  outOfTurn,
  waiterNotServed,
];
