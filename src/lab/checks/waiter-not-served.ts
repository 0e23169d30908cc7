import { clientName } from '../choice.ts';
import { TICK_MS } from '../options.ts';
import { isAlive, type State } from '../state.ts';
import type { World } from '../world.ts';
import type { Check } from './check.ts';

/** No recipe that serves everybody takes so long for one acquisition once faults have stopped. */
const PATIENCE_MS = 20 * TICK_MS;

/**
 * From this state on no fault happens, the paused go on, everybody gets his turn and the clock runs.
 * Whoever still lives must then come to his end. This has one continuation for each state, and many
 * states share most of theirs, so the answers are kept.
 */
export const waiterNotServed: Check = {
  name: 'waiter-not-served',
  about: {
    en: 'A live client never gets the lock, although faults have stopped.',
    zh: '故障停止之后，仍有存活的客户端永远拿不到锁。',
  },
  isCostly: true,
  ofState(state, world) {
    const waiter = unservedIn(state, world);
    if (waiter < 0) return undefined;
    const name = clientName(waiter);
    const seconds = patienceMs(world) / 1000;
    return {
      en: `no more faults from here on, yet ${name} still waits ${seconds} s later`,
      zh: `此后不再有故障，但 ${seconds} 秒后 ${name} 仍在等待`,
    };
  },
};

function patienceMs({ options }: World): number {
  return PATIENCE_MS * options.clients * options.rounds;
}

const KNOWN = new WeakMap<World, Map<string, number>>();

/** Who is left over in the fair continuation; -1: nobody. */
function unservedIn(state: State, world: World): number {
  const known = KNOWN.get(world) ?? new Map<string, number>();
  KNOWN.set(world, known);
  const deadlineMs = state.nowMs + patienceMs(world);
  const path: string[] = [];
  let unserved: number | undefined;
  for (let at = state; unserved === undefined; ) {
    unserved =
      known.get(at.key) ?? (at.nowMs > deadlineMs ? at.clients.findIndex(isAlive) : undefined);
    const next = unserved === undefined ? world.fairChoice(at) : undefined;
    if (next === undefined) unserved ??= -1;
    else {
      path.push(at.key);
      at = world.step(at, next).after;
    }
  }
  if (world.store.remembers) for (const key of path) known.set(key, unserved);
  return unserved;
}
