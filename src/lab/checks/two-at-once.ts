import { clientName, ownerName } from '../choice.ts';
import type { Text } from '../recipe.ts';
import { type ClientState, isAlive, type State } from '../state.ts';
import { livePermits } from '../store-view.ts';
import type { World } from '../world.ts';
import type { Check } from './check.ts';

/** A lease counts until its end, even if its holder has crashed. */
export const twoLiveLeases: Check = {
  name: 'two-live-leases',
  about: {
    en: 'Two clients hold a lease that has not ended.',
    zh: '两个客户端同时持有未到期的租约。',
  },
  ofState: (state, world) =>
    byView(state, world) ??
    aboutThose(
      state,
      world,
      (client) => client.inside && client.untilMs > state.nowMs,
      (names, together) => ({
        en: `${names.en} ${together.en} hold a lease that has not ended`,
        zh: `${names.zh} 同时持有未到期的租约`,
      }),
    ),
};

/** Counts only clients that were not paused since they entered, so that no pause explains the failure. */
export const twoAwakeInside: Check = {
  name: 'two-awake-inside',
  about: {
    en: 'Two clients that were not paused since they entered are inside at once.',
    zh: '两个进入后从未停顿的客户端同时在临界区内。',
  },
  ofState: (state, world) =>
    aboutThose(
      state,
      world,
      (client) => client.inside && isAlive(client) && !client.wasPaused,
      (names, together) => ({
        en: `${names.en} are inside at once, and ${together.none} was paused`,
        zh: `${names.zh} 同时在临界区内，且都没有停顿过`,
      }),
    ),
};

/** A lease cannot prevent this when a holder is paused. A fence makes it harmless. */
export const twoInside: Check = {
  name: 'two-inside',
  about: {
    en: 'Two clients are inside at once, even if one of them was paused.',
    zh: '两个客户端同时在临界区内（包括其中一个曾停顿的情况）。',
  },
  ofState: (state, world) =>
    aboutThose(
      state,
      world,
      (client) => client.inside && isAlive(client),
      (names) => ({
        en: `${names.en} are inside at once`,
        zh: `${names.zh} 同时在临界区内`,
      }),
    ),
};

const TWO = { en: 'both', none: 'neither' } as const;
const MORE = { en: 'all', none: 'none of them' } as const;

/** A sentence about the clients for which `isOne` is true, if their permits exceed the slots. */
function aboutThose(
  { clients }: State,
  { slots }: World,
  isOne: (client: ClientState) => boolean,
  say: (names: Text, together: typeof TWO | typeof MORE) => Text,
): Text | undefined {
  let taken = 0;
  for (const client of clients) if (isOne(client)) taken += client.permits;
  if (taken <= slots) return undefined;
  const names = [...clients.keys()].filter((index) => isOne(clients[index]!)).map(clientName);
  // For a mutex, two names are enough to show the failure.
  const meant = slots === 1 ? names.slice(0, 2) : names;
  return say(listed(meant), meant.length === 2 ? TWO : MORE);
}

function byView({ image: { view }, nowMs }: State, { slots }: World): Text | undefined {
  if (view === undefined || livePermits(view, nowMs) <= slots) return undefined;
  const names = listed(view.grants.map(({ owner }) => ownerName(owner)));
  return {
    en: `the store has granted ${names.en} more permits than the lock has`,
    zh: `存储同时授予了 ${names.zh}，超过了容量`,
  };
}

function listed(names: readonly string[]): Text {
  const [others, last] = [names.slice(0, -1), names.at(-1)!];
  if (others.length === 0) return { en: last, zh: last };
  return { en: `${others.join(', ')} and ${last}`, zh: `${others.join('、')} 和 ${last}` };
}
