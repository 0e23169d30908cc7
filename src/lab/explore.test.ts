import { describe, expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { type Algorithm, type Client, explore, exploreAtRandom, type Tools } from './index.ts';

const algorithm = (client: (tools: Tools) => Client): Algorithm => ({
  name: 'own',
  lockKey: 'lock',
  client,
});

describe('exploring a user-defined algorithm', () => {
  it('returns verdicts and a shortest failure', () => {
    const looksFirst = algorithm(function* ({ command, enter, work, leave }) {
      if ((yield* command`EXISTS lock`) === 1) return 'busy';
      yield* command`SET lock 1 EX 2`;
      yield* enter({ leaseMs: 2000 });
      yield* work();
      yield* leave();
      yield* command`DEL lock`;
      return 'done';
    });
    const { failure, isExpected } = explore(looksFirst, { clients: 2 });
    expect(isExpected).toBe(false);
    expect(failure).toMatchObject({ check: 'two-live-leases', steps: 4, schedule: 'baab' });
  });

  it('reports a check that fails before the first step', () => {
    const doesNotAsk = algorithm(function* ({ enter, work }) {
      yield* enter();
      yield* work();
      return 'done';
    });
    const { failure } = explore(doesNotAsk, { clients: 2 });
    expect(failure).toMatchObject({ check: 'two-live-leases', steps: 0, schedule: '' });
    expect(failure!.sentence.en).toMatch(/^Step 0: A and B both hold/);
  });

  it('lets the client catch a lost reply and repeat the request', () => {
    const asksAgain = algorithm(function* ({ command, token, enter, work, leave }) {
      try {
        if ((yield* command`SET lock ${token} NX PX 2000`) !== 'OK') return 'busy';
      } catch {
        if ((yield* command`GET lock`) !== token) return 'busy';
      }
      yield* enter({ leaseMs: 2000 });
      yield* work();
      yield* leave();
      const mine = (yield* command`GET lock`) === token;
      return mine && (yield* command`DEL lock`) === 1 ? 'done' : 'lost';
    });
    const { failure, states } = explore(asksAgain, { clients: 2, lostReplies: 1, pauses: 0 });
    expect(failure).toBeUndefined();
    expect(states).toBeGreaterThan(100);
  });

  it('distinguishes a list from a string with the same JSON', () => {
    const script = "if redis.call('exists', KEYS[1]) == 1 then return '[1]' end return {1}";
    const asks = algorithm(function* ({ name, command, enter, sleep }) {
      if (name === 'A') {
        if (typeof (yield* command`EVAL ${script} 1 key`) !== 'string') return 'done';
      } else yield* command`SET key 1`;
      yield* enter();
      yield* sleep(1000);
      return 'done';
    });
    const { failure } = explore(asks, { clients: 2, crashes: 0, pauses: 0 });
    expect(failure).toMatchObject({ check: 'two-live-leases', schedule: 'ba' });
  });

  it('throws for an endless client, an unknown outcome, and a command that fails', () => {
    const spins = algorithm(function* ({ command }) {
      while ((yield* command`GET lock`) === null);
      return 'done';
    });
    const ends = algorithm(function* ({ command }) {
      yield* command`GET lock`;
      return undefined as never;
    });
    const errs = algorithm(function* ({ command }) {
      yield* command`SET lock`;
      return 'done';
    });
    const naps = algorithm(function* ({ sleep }) {
      yield* sleep(0);
      return 'done';
    });
    const throws = algorithm(function* ({ command }) {
      yield* command`GET lock`;
      throw new TypeError('a bug of its own');
    });
    expect(() => explore(spins)).toThrow('client A of own never ends: it took 1000 steps');
    expect(() => explore(ends)).toThrow(
      'client A of own must return done, busy or lost, not undefined',
    );
    expect(() => explore(errs)).toThrow('own cannot run SET lock: ERR wrong number of arguments');
    expect(() => explore(naps)).toThrow('a sleep takes time: 0 ms is not more than 0');
    expect(() => explore(throws)).toThrow('a bug of its own');
  });
});

describe('the options of explore', () => {
  it('are refused with the nearest valid value when they are wrong', () => {
    const refused = (ask: () => unknown, message: string): void => expect(ask).toThrow(message);
    refused(
      () => explore('set-nx-px-lau-del'),
      'did you mean "set-nx-px-lua-del"? There are setnx-only,',
    );
    refused(
      () => explore('watchdog', { variant: 'pauses' }),
      'unknown variant "pauses": did you mean "pause"?',
    );
    refused(
      () => explore('fenced', { checks: ['forein-release' as 'foreign-release'] }),
      'unknown check "forein-release": did you mean "foreign-release"?',
    );
    refused(
      () => explore('fenced', { client: 2 } as object),
      'unknown option "client": did you mean "clients"?',
    );
    refused(
      () => explore('fenced', { clients: 9 }),
      'clients must be a whole number from 1 to 8, not 9; the nearest is 8',
    );
    refused(() => explore('fenced', { clients: 0 }), 'the nearest is 1');
    refused(() => explore('fenced', { ticks: 2.5 }), 'ticks must be a whole number');
    refused(() => explore('fenced', { pauses: Number.NaN }), 'not NaN; the nearest is 0');
    refused(() => exploreAtRandom('fence', { seed: 1 }), 'did you mean "fenced"?');
  });

  it('may select some of the checks', () => {
    const { verdicts } = explore('set-nx-ex-del', { checks: ['two-live-leases', 'held-for-ever'] });
    expect(verdicts.map(({ check, holds }) => [check, holds])).toEqual([
      ['two-live-leases', false],
      ['held-for-ever', true],
    ]);
  });

  it('report progress and elapsed time to onProgress', () => {
    const clock = virtualClock();
    const states: number[] = [];
    const runs: bigint[] = [];
    const found = explore('set-nx-px-lua-del', {
      clock,
      onProgress: (progress) => {
        states.push(progress.states);
        runs.push(progress.interleavings());
        clock.advance(500);
        return undefined;
      },
    });
    expect(states).toEqual([0, 4096]);
    // First each of three clients may step, crash or be paused.
    expect(runs[0]).toBe(9n);
    expect(runs[1]).toBeGreaterThan(1000n);
    expect(runs[1]).toBeLessThan(found.interleavings);
    expect(found.seconds).toBe(1);
    const stopped = explore('set-nx-px-lua-del', { onProgress: ({ states }) => states === 0 });
    expect(stopped).toMatchObject({ isComplete: false });
  });
});

describe('a verdict', () => {
  it('is unexpected unless the world is smaller, or has more faults', () => {
    const isExpected = (recipe: string, options: object): boolean =>
      explore(recipe, options).isExpected;
    expect(isExpected('set-nx-ex-del', {})).toBe(true);
    expect(isExpected('set-nx-ex-del', { pauses: 0 })).toBe(true);
    expect(isExpected('set-nx-ex-del', { variant: 'no-pause', pauses: 1 })).toBe(true);
    expect(isExpected('set-nx-px-lua-del', { clients: 4, ticks: 4 })).toBe(true);
  });

  it('is unexpected if a recipe does not fail as its variant says', () => {
    const { isExpected, verdicts } = explore({
      name: 'own',
      lockKey: 'lock',
      variants: [{ name: 'only', about: { en: '', zh: '' }, world: {}, fails: ['late-write'] }],
      *client({ command }) {
        yield* command`GET lock`;
        return 'done';
      },
    });
    expect(isExpected).toBe(false);
    expect(verdicts.filter((each) => !each.isExpected).map(({ check }) => check)).toEqual([
      'late-write',
    ]);
  });
});

describe('exploring at random', () => {
  it('finds, shortens and replays a failure from its seed', () => {
    const explored = () =>
      exploreAtRandom('set-nx-ex-del', { seed: 7, checks: ['foreign-release'] });
    const found = explored();
    const { failure } = found;
    expect(failure!.steps).toBeLessThan(failure!.stepsFound);
    expect(failure!.sentence.en).toMatch(/^Step \d+: [A-E] removes the lock that [A-E] holds\.$/);
    expect(failure!.trace).toHaveLength(failure!.steps);
    expect(explored().failure).toEqual(failure);
    const again = exploreAtRandom('set-nx-ex-del', {
      seed: failure!.seed,
      checks: ['foreign-release'],
    });
    expect([again.runs, again.failure!.schedule]).toEqual([1, failure!.schedule]);
  });

  it('finds no failure of a correct recipe in hours of virtual time', () => {
    const seen: number[] = [];
    const found = exploreAtRandom('fenced', {
      seed: 1,
      runs: 150,
      onProgress: ({ runs }) => {
        seen.push(runs);
        return undefined;
      },
    });
    expect(found.failure).toBeUndefined();
    expect(found.virtualHours).toBeGreaterThan(0.5);
    expect(seen).toHaveLength(150);
    expect(exploreAtRandom('fenced', { seed: 1, onProgress: () => false }).runs).toBe(1);
  });
});
