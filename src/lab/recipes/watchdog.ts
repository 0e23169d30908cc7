import type { Recipe } from '../recipe.ts';
import { COMPARE_AND_DELETE, COMPARE_AND_EXPIRE } from './scripts.ts';

/** The work takes longer than the lease. */
const SECONDS_OF_WORK = 3;

export const watchdog: Recipe = {
  name: 'watchdog',
  about: {
    en: 'The holder renews its lease while it works: a live holder keeps the lock, and a paused holder notices that it lost it.',
    zh: '持有者在工作期间不断续期：活着就不会丢锁；停顿过久会丢锁，但它自己知道。',
  },
  source: {
    document: 'notes',
    says: {
      en: 'A task that must not run twice, such as a payment, needs a lock that lasts long enough or is extended regularly.',
      zh: '不允许重复执行的任务（例如扣款），锁要足够长，或定期续期。',
    },
  },
  lockKey: 'lock',
  variants: [
    {
      name: 'pause',
      about: {
        en: 'A holder is paused for longer than its lease.',
        zh: '持有者停顿的时间超过租约。',
      },
      world: { ticks: 8 },
      fails: ['two-inside', 'late-write'],
      unpromised: ['two-inside', 'late-write'],
      shows: 'two-inside',
    },
    {
      name: 'no-pause',
      about: {
        en: 'The work takes longer than the lease; it is renewed.',
        zh: '工作时间超过租约，但一直续期。',
      },
      world: { ticks: 8, pauses: 0 },
      fails: [],
    },
    {
      name: 'no-renewal',
      about: { en: 'The same work without renewal.', zh: '同样的工作，但不续期。' },
      world: { crashes: 0, pauses: 0 },
      fails: ['two-awake-inside', 'two-inside'],
      shows: 'two-awake-inside',
    },
  ],
  *client({ command, token, variant, enter, extend, sleep, write, leave }) {
    const ok = yield* command`SET lock ${token} NX PX 2000`;
    if (ok !== 'OK') return 'busy';
    yield* enter({ leaseMs: 2000 });
    for (let second = 1; second <= SECONDS_OF_WORK; second++) {
      yield* sleep(1000);
      if (variant === 'no-renewal') continue;
      const renewed = yield* command`EVAL ${COMPARE_AND_EXPIRE} 1 lock ${token} 2000`;
      if (renewed !== 1) return 'lost';
      yield* extend({ leaseMs: 2000 });
    }
    yield* write();
    yield* leave();
    const released = yield* command`EVAL ${COMPARE_AND_DELETE} 1 lock ${token}`;
    return released === 1 ? 'done' : 'lost';
  },
};
