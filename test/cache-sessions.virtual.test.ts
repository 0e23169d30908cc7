import { afterEach, beforeEach, expect, it } from 'vitest';
import { CachingLocks } from '../src/cache/caching-locks.ts';
import { type CacheOptions, createCache } from '../src/cache/index.ts';
import type { ScriptRunner } from '../src/client/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine, execute } from '../src/engine/index.ts';
import { ErrorReply } from '../src/resp/index.ts';
import { RedisStore } from '../src/stores/index.ts';
import { engineRunner } from '../src/stores/redis/engine-runner.ts';
import { LockSession } from '../src/stores/sessions/lock-session.ts';
import { elapse, heldLoad, neverEarly, openProgram, settled, turn } from './cache-scene.ts';

const KEPT: CacheOptions = { fresh: '1m', lease: '10s' };

let clock: VirtualClock;
let engine: Engine;
let allLocks: CachingLocks[];
/** The server alone knows of the end, as if the program had died. */
let killSession: () => void;

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  allLocks = [];
  forgets = false;
});
afterEach(async () => {
  for (const locks of allLocks) await locks.close();
  engine.close();
});

/** Whether the server forgets its scripts after each call. */
let forgets: boolean;

function forgetfulRunner(): ScriptRunner {
  const runner = engineRunner(engine);
  const run: ScriptRunner['run'] = async (...call) => {
    const reply = await runner.run(...call);
    if (forgets) execute(engine.session(), ['SCRIPT', 'FLUSH']);
    return reply;
  };
  return { run, listen: runner.listen.bind(runner), close: () => runner.close() };
}

function lockSession(scripts: ScriptRunner): LockSession {
  const open = async () => {
    const session = engine.session();
    execute(session, ['HOLDFAST.SESSION', 'session']);
    killSession = () => session.close();
    return { id: 'session', ended: new Promise<void>(() => {}), close: killSession };
  };
  const command = async (args: string[]): Promise<unknown> => {
    const reply = execute(engine.session(), args);
    if (reply instanceof ErrorReply) throw new Error(reply.message);
    return reply;
  };
  const requestTimeoutMs = 5000;
  return new LockSession({ scripts, command, open, keyPrefix: '', clock, requestTimeoutMs });
}

function openLoader(): CachingLocks {
  const scripts = forgetfulRunner();
  const session = lockSession(scripts);
  const options = { clock, clientId: 'loader', requestTimeoutMs: 5000, session };
  const store = new RedisStore(scripts, options);
  const locks = new CachingLocks({ store, clock, random: neverEarly(1) });
  allLocks.push(locks);
  return locks;
}

it.each([false, true])(
  'one waiter loads at once when the session of the loader ends (after SCRIPT FLUSH: %j)',
  async (isForgetful) => {
    forgets = isForgetful;
    const { load, loads } = heldLoad<string>();
    void settled(createCache({ locks: openLoader() }).get('a', KEPT, load));
    await turn();
    expect(loads).toHaveLength(1);
    let followers = 0;
    const waiting = [1, 2].map((number) => {
      const { locks, cache } = openProgram(engine, clock, number);
      allLocks.push(locks);
      return cache.get('a', KEPT, () => `follower ${++followers}`);
    });
    await turn();
    expect(followers).toBe(0);
    killSession();
    // ExitCommands are run in the next turn, by the engine's clock.
    await elapse(clock, 0);
    expect(await Promise.all(waiting)).toEqual(['follower 1', 'follower 1']);
  },
);

it('a load that has ended leaves no exit command', async () => {
  const locks = openLoader();
  const cache = createCache({ locks });
  await cache.get('a', KEPT, () => 1);
  await settled(cache.get('b', KEPT, () => Promise.reject(new Error('no'))));
  await turn();
  expect(engine.exitCommands.count).toBe(1);
});
