import type { Recipe } from '../recipe.ts';

const TIMEOUT_MS = 2000;

export const timestampGetsetSlow: Recipe = {
  name: 'timestamp-getset-slow',
  about: {
    en: 'The same with times in milliseconds and commands that take time: no client is paused, and the losing client still moves the end.',
    zh: '同样的算法，时间以毫秒计，每条命令都要花时间：没有客户端停顿，失败者照样推迟到期时间。',
  },
  source: {
    document: 'interview',
    says: {
      en: 'Clients that lose by GETSET have still written: does the end of the lock move again and again? The author considers the error negligible.',
      zh: 'GETSET 失败的客户端也写入了新值，到期时间会不会一直延长？作者认为误差可以忽略。',
    },
  },
  lockKey: 'lock.foo',
  leaseEnd: (value) => Number(value) / 1000,
  variants: [
    {
      name: 'late-losers',
      about: {
        en: 'Each losing client moves the end once, by the time that it is later than the winner.',
        zh: '每个失败者只推迟一次，推迟的量就是它比胜者晚的时间。',
      },
      world: { crashes: 1, pauses: 0, ticks: 12, tickMs: 500, stepTicks: 1 },
      fails: ['prolonged-by-loser'],
      shows: 'prolonged-by-loser',
    },
  ],
  *client({ command, unixTimeMs, enter, work, leave }) {
    const expiry = (yield* unixTimeMs()) + TIMEOUT_MS;
    if ((yield* command`SETNX lock.foo ${expiry}`) !== 1) {
      const found = yield* command`GET lock.foo`;
      const now = yield* unixTimeMs();
      if (found === null || Number(found) >= now) return 'busy';
      const newExpiry = now + TIMEOUT_MS;
      if ((yield* command`GETSET lock.foo ${newExpiry}`) !== found) return 'busy';
      yield* enter({ until: newExpiry / 1000 });
    } else yield* enter({ until: expiry / 1000 });
    yield* work();
    yield* leave();
    yield* command`DEL lock.foo`;
    return 'done';
  },
};
