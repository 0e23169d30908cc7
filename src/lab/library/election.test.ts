import { expect, it } from 'vitest';
import { newSeed } from '../../../test/new-seed.ts';
import type { Leader, Lease } from '../../lock/index.ts';
import type { Client } from './client.ts';
import { exploreLibrary, exploreLibraryAtRandom } from './explore-library.ts';
import type { Scenario, Task } from './scenario.ts';

const LEASE_MS = 3000;
const WORK_MS = 1000;

/** As much of a lease as the checks of the lab read. */
function leaseOf({ name, fence, signal }: Leader): Lease {
  return {
    name,
    fence,
    signal,
    get isHeld() {
      return !signal.aborted;
    },
  } as Lease;
}

/** Leads for a while, or until the signal aborts. */
async function lead(client: Client, leader: Leader): Promise<void> {
  const held = client.enter(leaseOf(leader), 1);
  await new Promise<void>((resolve) => {
    const timer = client.clock.setTimer(WORK_MS, resolve);
    leader.signal.addEventListener('abort', () => {
      timer.cancel();
      resolve();
    });
  });
  client.leave(held);
}

/** Campaigns until it has led once, and then stops. A store that refuses ends the run. */
const untilLed: Task = {
  calm: ['released'],
  any: ['released'],
  async run(client) {
    const election = client.locks.elect(
      'foo',
      async (leader) => {
        await lead(client, leader);
        void election.stop();
      },
      { lease: LEASE_MS, onError: fail },
    );
    await election.done;
    return 'released';
  },
};

/** Campaigns, and stops at a time when it may wait, lead or pause. */
const untilTime = (stopMs: number): Task => ({
  calm: ['released'],
  any: ['released'],
  async run(client) {
    const election = client.locks.elect('foo', (leader) => lead(client, leader), {
      lease: LEASE_MS,
      onError: fail,
    });
    await client.sleep(stopMs);
    await election.stop();
    return 'released';
  },
});

function fail(error: unknown): never {
  throw error;
}

const ELECTION: Scenario = {
  name: 'election',
  about: {
    en: 'Three candidates, of which one stops at a time of its own.',
    zh: '三个候选者，其中一个在自己的时间停止竞选。',
  },
  key: 'lock:{foo}',
  slots: 1,
  clients: [[untilLed], [untilLed], [untilTime(1500)]],
};

it('never has two leaders at once, and every candidate ends, with any one preemption or fault', async () => {
  const { failure, isComplete } = await exploreLibrary(ELECTION, { preemptions: 1 });
  expect(failure).toBeUndefined();
  expect(isComplete).toBe(true);
});

it('never has two leaders at once, and every candidate ends, at random', async () => {
  const seed = Number(newSeed());
  const { failure } = await exploreLibraryAtRandom(ELECTION, { seed, runs: 100 });
  expect(failure).toBeUndefined();
});
