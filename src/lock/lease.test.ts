import { inspect } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { seededRandom, virtualClock } from '../clock/index.ts';
import { Locks, memoryStore } from './index.ts';

let locks: Locks;

beforeEach(() => {
  const clock = virtualClock();
  locks = new Locks({ store: memoryStore(clock), clock, random: seededRandom(1) });
});

afterEach(() => locks.close());

it('a lease of any kind can be logged, beside others', async () => {
  const single = await locks.mutex('a').acquire();
  const group = await locks.all(['b', 'c']).acquire();
  await locks.mutex('d').run(async () => {
    const shared = await locks.mutex('d').acquire({ reentrant: true });
    for (const lease of [single, group, shared]) {
      const { name, fence, isHeld, expiresInMs } = lease;
      const shown = { name, fence, isHeld, expiresInMs };
      expect(JSON.parse(JSON.stringify({ lease }))).toEqual({ lease: shown });
      expect(inspect({ lease }, { depth: null })).toBe(inspect({ lease: shown }));
    }
    await shared.release();
  });
  await single.release();
  expect(JSON.parse(JSON.stringify(single))).toMatchObject({ name: 'a', isHeld: false });
});
