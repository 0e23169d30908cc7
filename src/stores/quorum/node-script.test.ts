import { describe, expect, it } from 'vitest';
import { newSeed } from '../../../test/new-seed.ts';
import { type Random, seededRandom, virtualClock } from '../../clock/index.ts';
import { createEngine } from '../../engine/index.ts';
import { engineRunner } from '../redis/engine-runner.ts';
import { ADMIT_SCRIPT, NODE_KEY, VOTE_SCRIPT, voteKeys, WAIT_KEY } from './node-script.ts';
import { type NodeLock, VOTING_RULES } from './voting.ts';

const SEED = process.env['HOLDFAST_SEED'] ?? newSeed();
const DAY_MS = 86_400_000;
const LEASE_MS = 1000;

/** A node that votes. */
async function openNode(floor = 0) {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1) });
  const runner = engineRunner(engine);
  const admit = async (verb: string, run = '', number = 0): Promise<unknown[]> => {
    const args = [verb, run, String(number), '3', '1'];
    return (await runner.run(ADMIT_SCRIPT, [NODE_KEY, WAIT_KEY], args)) as unknown[];
  };
  const run = String((await admit('state'))[1]);
  await admit('begin', run);
  await admit('admit', run, floor);
  return {
    clock,
    admit,
    async vote(verb: string, token: string, ...rest: (string | number)[]): Promise<unknown[]> {
      const args = [verb, token, ...rest].map(String);
      return (await runner.run(VOTE_SCRIPT, voteKeys('a'), args)) as unknown[];
    },
  };
}

type OpenNode = Awaited<ReturnType<typeof openNode>>;

describe('the vote script', () => {
  it(`does what the voting rules do, seed ${SEED}`, async () => {
    const random = seededRandom(Number(SEED));
    for (let run = 0; run < 20; run++) {
      const floor = Math.floor(random.next() * 10);
      const lock: NodeLock = { owner: '', fence: 0, floor };
      const node = await openNode(floor);
      for (let step = 0; step < 60; step++) await compare(node, lock, random);
    }
  });

  it('votes again for the same owner with the same fence, and extends its lease', async () => {
    const { vote, clock } = await openNode();
    expect(await vote('vote', 'x', LEASE_MS, 1, 7, 0)).toEqual([1, '7']);
    clock.advance(LEASE_MS / 2);
    expect(await vote('vote', 'x', LEASE_MS, 1, 9, 0)).toEqual([2, '7']);
    clock.advance(LEASE_MS - 1);
    expect(await vote('vote', 'y', LEASE_MS, 1, 9, 0)).toEqual([0, '1']);
    clock.advance(2);
    expect(await vote('vote', 'y', LEASE_MS, 1, 5, 0)).toEqual([1, '8']);
  });

  it('adopts only from the given owner, and does not take a free lock', async () => {
    const { vote } = await openNode();
    expect(await vote('adopt', 'y', LEASE_MS, 1, 5, 0, 'x')).toEqual([0, '0']);
    await vote('vote', 'x', LEASE_MS, 1, 5, 0);
    expect((await vote('adopt', 'y', LEASE_MS, 1, 1, 0, 'z'))[0]).toBe(0);
    expect(await vote('adopt', 'y', LEASE_MS, 1, 1, 0, 'x')).toEqual([1, '6']);
    expect(await vote('adopt', 'y', LEASE_MS, 1, 1, 0, 'x')).toEqual([2, '6']);
  });

  it('does not create a vote by extend, keep or confirm', async () => {
    const { vote } = await openNode();
    for (const verb of ['extend', 'keep', 'confirm']) {
      expect(await vote(verb, 'x', LEASE_MS)).toEqual([0, '0']);
    }
    expect((await vote('read', ''))[0]).toBe('');
  });

  it('returns 1 to a repeated release with its fence, until the next vote', async () => {
    const { vote } = await openNode();
    await vote('vote', 'x', LEASE_MS, 1, 5, 0);
    expect(await vote('release', 'x', 5)).toEqual([1, '0']);
    expect(await vote('release', 'x', 5)).toEqual([1, '0']);
    expect(await vote('release', 'x', 0)).toEqual([0, '0']);
    await vote('vote', 'y', LEASE_MS, 1, 5, 0);
    expect(await vote('release', 'x', 5)).toEqual([0, '0']);
  });

  it('does not end a vote of a later round by a drop that arrives late, nor after a late vote', async () => {
    const { vote } = await openNode();
    await vote('vote', 'x', LEASE_MS, 2, 5, 0);
    expect(await vote('drop', 'x', 0, 1)).toEqual([0, '0']);
    await vote('vote', 'x', LEASE_MS, 1, 5, 0);
    expect(await vote('drop', 'x', 0, 1)).toEqual([0, '0']);
    expect(await vote('drop', 'y', 0, 2)).toEqual([0, '0']);
    expect(await vote('drop', 'x', 0, 2)).toEqual([1, '0']);
    // Rounds of different clients are not compared.
    await vote('vote', 'y', LEASE_MS, 1, 5, 0);
    expect(await vote('drop', 'y', 0, 1)).toEqual([1, '0']);
  });

  it('votes for larger fences after the clock of a client was centuries ahead', async () => {
    const { vote } = await openNode();
    const fences: number[] = [];
    for (const owner of ['x', 'y', 'z']) {
      const [, fence] = await vote('vote', owner, LEASE_MS, 1, 1e18, 0);
      fences.push(Number(fence));
      await vote('release', owner, Number(fence));
    }
    expect(fences).toEqual([2 ** 52, 2 ** 52 + 1, 2 ** 52 + 2]);
  });

  it('votes for a larger fence after the fence of the lock has expired', async () => {
    const { vote, clock } = await openNode();
    for (const hint of [1e15, 1, 1]) {
      const [, before] = await vote('vote', `x${hint}`, LEASE_MS, 1, hint, 0);
      // The floor rises with the first vote of a day.
      clock.advance(1.5 * DAY_MS);
      clock.advance(1.5 * DAY_MS);
      const [code, after] = await vote('vote', 'y', LEASE_MS, 1, 1, 0);
      expect(code).toBe(1);
      expect(Number(after)).toBeGreaterThan(Number(before));
      clock.advance(LEASE_MS);
    }
  });

  it('does so when the clock of the server was set back by years', async () => {
    const { vote, clock } = await openNode();
    const [, before] = await vote('vote', 'x', LEASE_MS, 1, 1e15, 0);
    clock.jumpWall(-1000 * DAY_MS);
    clock.advance(3 * DAY_MS);
    const [, after] = await vote('vote', 'y', LEASE_MS, 1, 1, 0);
    expect(Number(after)).toBeGreaterThan(Number(before));
  });

  it('does not vote before the node is admitted, nor extend, but releases', async () => {
    const engine = createEngine({ clock: virtualClock(), random: seededRandom(2) });
    const runner = engineRunner(engine);
    const vote = (...args: string[]) => runner.run(VOTE_SCRIPT, voteKeys('a'), args);
    for (const verb of [
      'vote',
      'steal',
      'adopt',
      'confirm',
      'extend',
      'keep',
      'release',
      'drop',
      'force',
    ]) {
      expect(await vote(verb, 'x', '1000', '1', '5', '0')).toEqual([-1, '0']);
    }
    expect(await vote('read', '')).toEqual(['', '0', '-2']);
  });
});

describe('the admission script', () => {
  it('ignores begin and admit of an earlier run of the server', async () => {
    const engine = createEngine({ clock: virtualClock(), random: seededRandom(3) });
    const runner = engineRunner(engine);
    const send = async (...args: string[]): Promise<unknown> =>
      ((await runner.run(ADMIT_SCRIPT, [NODE_KEY, WAIT_KEY], args)) as unknown[]).slice(0, 2);
    const [, run] = (await send('state', '', '0', '0')) as [string, string];
    expect(await send('begin', 'earlier', '0', '3')).toEqual(['out', run]);
    expect(await send('begin', run, '0', '3')).toEqual(['due', run]);
    expect(await send('admit', 'earlier', '7', '3', '1')).toEqual(['due', run]);
    expect(await send('admit', run, '7', '3', '1')).toEqual(['voting', run]);
  });
});

/** Does one step to both, and compares the replies and what they have then. */
async function compare(node: OpenNode, lock: NodeLock, random: Random): Promise<void> {
  const number = (count: number): number => Math.floor(random.next() * count);
  const owner = ['x', 'y', 'z'][number(3)]!;
  const fence = Math.max(0, lock.fence + number(5) - 2);
  const kind = number(5);
  if (kind < 2) {
    const expected = VOTING_RULES.vote(lock, owner, fence);
    const [code, reply] = await node.vote('vote', owner, LEASE_MS, 1, fence, 0);
    expect(Number(code) > 0 ? Number(reply) : undefined).toBe(expected);
  } else if (kind === 2) {
    const expected = VOTING_RULES.confirm(lock, owner, fence);
    const [code] = await node.vote('confirm', owner, fence);
    expect(code).toBe(expected ? 1 : 0);
  } else if (kind === 3) {
    VOTING_RULES.release(lock, owner, fence);
    await node.vote('release', owner, fence);
  } else {
    lock.owner = '';
    node.clock.advance(LEASE_MS);
  }
  const [token, last] = await node.vote('read', '');
  expect([token, Number(last)]).toEqual([lock.owner, lock.fence]);
}
