import { clientName } from '../choice.ts';
import type { Text } from '../recipe.ts';
import { type ClientState, isAlive, type State } from '../state.ts';
import type { Check } from './check.ts';

/** Leases count until their end, whether or not the holder still lives. */
export const twoLiveLeases: Check = {
  name: 'two-live-leases',
  about: {
    en: 'Two clients hold a lease that has not ended.',
    zh: '两个客户端同时持有未到期的租约。',
  },
  ofState: (state) =>
    aboutPair(
      state,
      (client) => client.inside && client.untilMs > state.nowMs,
      (one, other) => ({
        en: `${one} and ${other} both hold a lease that has not ended`,
        zh: `${one} 和 ${other} 同时持有未到期的租约`,
      }),
    ),
};

/** Two who were never paused since they entered: nothing excuses this. */
export const twoAwakeInside: Check = {
  name: 'two-awake-inside',
  about: {
    en: 'Two clients that were not paused since they entered are inside at once.',
    zh: '两个进入后从未停顿的客户端同时在临界区内。',
  },
  ofState: (state) =>
    aboutPair(
      state,
      (client) => client.inside && isAlive(client) && !client.wasPaused,
      (one, other) => ({
        en: `${one} and ${other} are inside at once, and neither was paused`,
        zh: `${one} 和 ${other} 同时在临界区内，且都没有停顿过`,
      }),
    ),
};

/** No lease can prevent this when a holder is paused; a fence makes it harmless. */
export const twoInside: Check = {
  name: 'two-inside',
  about: {
    en: 'Two clients are inside at once, be it that one was paused.',
    zh: '两个客户端同时在临界区内（包括其中一个曾停顿的情况）。',
  },
  ofState: (state) =>
    aboutPair(
      state,
      (client) => client.inside && isAlive(client),
      (one, other) => ({
        en: `${one} and ${other} are inside at once`,
        zh: `${one} 和 ${other} 同时在临界区内`,
      }),
    ),
};

/** A sentence about the first two clients of the kind, if there are two. */
function aboutPair(
  { clients }: State,
  isOne: (client: ClientState) => boolean,
  say: (one: string, other: string) => Text,
): Text | undefined {
  const one = clients.findIndex(isOne);
  const other = clients.findIndex((client, index) => index > one && isOne(client));
  return one < 0 || other < 0 ? undefined : say(clientName(one), clientName(other));
}
