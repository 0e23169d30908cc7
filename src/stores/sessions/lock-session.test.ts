import diagnostics from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startListening } from '../../../test/listening.ts';
import { gate, settle as settleOnce } from '../../../test/virtual-time.ts';
import { type ScriptRunner, scriptOf } from '../../client/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../../clock/index.ts';
import { createEngine, type Engine, execute } from '../../engine/index.ts';
import { LockLostError, type LockRequest, Locks } from '../../lock/index.ts';
import { ErrorReply } from '../../resp/index.ts';
import { engineRunner } from '../redis/engine-runner.ts';
import { RedisStore } from '../redis/redis-store.ts';
import { LockSession } from './lock-session.ts';
import { SessionError } from './session.ts';

let clock: VirtualClock;
let engine: Engine;
/** Errors for the next commands that set an exit command, which do not reach the server. */
let failures: string[];
let commands: string[];
let openedCount: number;
/** Ends the session for the client and the server. */
let endSession: () => void;
/** Ends the session for the server only. */
let killSession: () => void;
/** Ends the session for the client only. */
let loseSession: () => void;
/** The server does not notice that the client has closed the connection. */
let leavesOpen: boolean;
/** Called when a session was opened, and the script is about to be loaded. */
let onLoad: () => void;
/** No session opens before this resolves. */
let opening: Promise<void> | undefined;
/** No reply of a script arrives before this resolves. */
let replying: Promise<void> | undefined;
/** Scripts fail with this, and do not reach the server. */
let scriptFailure: string | undefined;
/** Whether scripts that end a session fail. */
let failsExits: boolean;
let session: LockSession;
let store: RedisStore;
let losses: string[];

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  failures = [];
  commands = [];
  onLoad = () => {};
  openedCount = 0;
  losses = [];
  opening = undefined;
  replying = undefined;
  scriptFailure = undefined;
  failsExits = false;
  leavesOpen = false;
  store = openStore('');
  store.onLost(({ message }) => losses.push(message));
});

afterEach(async () => {
  await store.close();
  await settle();
  engine.close();
});

/** The engine runs exit commands in a turn of its own. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    clock.advance(0);
    await settleOnce();
  }
}

/** A store with a session, of a client that sets a prefix before all keys of scripts. */
function openStore(keyPrefix: string): RedisStore {
  const runner = engineRunner(engine);
  const scripts: ScriptRunner = {
    ...runner,
    async run(script, keys, args) {
      if (scriptFailure !== undefined) throw new Error(scriptFailure);
      if (failsExits && keys.length === 0) throw new Error('Connection is closed.');
      const prefixed = keys.map((key) => keyPrefix + key);
      const reply = await runner.run(script, prefixed, args);
      await replying;
      return reply;
    },
  };
  const settings = { clock, requestTimeoutMs: 5000 };
  const client = { scripts, command: sendCommand, open: openSession, keyPrefix };
  session = new LockSession({ ...client, ...settings });
  return new RedisStore(scripts, { ...settings, clientId: 'here', session });
}

function command(...argv: string[]): unknown {
  const client = engine.session();
  const bytes = argv.map((text) => Buffer.from(text, 'utf8').toString('latin1'));
  const reply = execute(client, bytes);
  client.close();
  if (reply instanceof ErrorReply) throw new Error(reply.message);
  return reply;
}

async function sendCommand(argv: string[]): Promise<unknown> {
  commands.push(argv.slice(0, 2).join(' '));
  const failure = argv[1] === 'SET' ? failures.shift() : undefined;
  if (failure !== undefined) throw new Error(failure);
  if (argv[1] === 'LOAD') onLoad();
  return command(...argv);
}

async function openSession(): Promise<{ id: string; ended: Promise<void>; close(): void }> {
  await opening;
  const connection = engine.session();
  const id = `session${++openedCount}`;
  execute(connection, ['HOLDFAST.SESSION', id]);
  const { opened: ended, open: end } = gate();
  killSession = () => connection.close();
  loseSession = () => end();
  endSession = () => {
    connection.close();
    end();
  };
  return { id, ended, close: () => void (leavesOpen || connection.close()) };
}

function requestFor(name: string, id: number | string = 1): LockRequest {
  const info = { host: '', pid: 0, label: '' };
  const owner = `here.${name}${id}`;
  return { kind: 'mutex', name, slots: 1, permits: 1, leaseMs: 3_600_000, owner, info };
}

async function acquire(...names: string[]): Promise<unknown[]> {
  const results = await Promise.all(names.map((name) => store.acquire(requestFor(name))));
  return results.map(({ type }) => type);
}

const isHeld = (name: string): boolean => command('EXISTS', `lock:{${name}}`) === 1;
/** One field of the key says that the session is open. */
const recorded = (id = openedCount): number =>
  Math.max(0, Number(command('HLEN', `holdfast:session:session${id}`)) - 1);

it('is opened by ready(), which fails with the error of the session', async () => {
  const locks = new Locks({ store, clock });
  await locks.ready();
  expect(openedCount).toBe(1);
  endSession();
  await settle();
  const refusal = new SessionError('not-holdfast', 'the server has no sessions');
  opening = Promise.reject(refusal);
  await expect(locks.ready()).rejects.toMatchObject({ code: 'unavailable', cause: refusal });
});

/** Another client, without a session. */
function openOther(): Locks {
  const other = new RedisStore(engineRunner(engine), {
    clock,
    clientId: 'there',
    requestTimeoutMs: 5000,
  });
  onTestFinished(() => other.close());
  return new Locks({ store: other, clock });
}

describe('a session of locks', () => {
  it('is opened by the first request that acquires, and has one exit command for all locks', async () => {
    await store.release(requestFor('a'));
    await store.inspect(requestFor('a'));
    expect(openedCount).toBe(0);
    await Promise.all([acquire('a'), acquire('b')]);
    for (const name of ['c', 'd', 'e']) await acquire(name);
    expect(openedCount).toBe(1);
    expect(engine.exitCommands.count).toBe(1);
    expect(commands).toEqual(['SCRIPT LOAD', 'HOLDFAST.WILL SET']);
    expect(recorded()).toBe(5);
    for (const name of ['a', 'b', 'c', 'd', 'e']) await store.release(requestFor(name));
    expect(recorded()).toBe(0);
  });

  it('fails requests when its exit command cannot be set, and acquires nothing', async () => {
    failures = ['ERR A session cannot have more than 100000 wills'];
    await expect(acquire('a')).rejects.toThrow(/more than 100000 wills/);
    expect(isHeld('a')).toBe(false);
    expect(engine.exitCommands.sessionCount).toBe(0);
    expect(await acquire('a')).toEqual(['granted']);
    expect(losses).toEqual([]);
  });

  it('releases its locks and leaves their queues when its process dies', async () => {
    const there = openOther();
    await acquire('a', 'b');
    const waiter = requestFor('a', 2);
    expect(await store.acquire(waiter, { notify() {} })).toMatchObject({ type: 'busy' });
    const waiting = there.mutex('a').acquire();
    await settle();
    expect((await there.mutex('a').inspect()).waiters).toHaveLength(2);
    // The process is dead and does not refresh its waiters.
    scriptFailure = 'Connection is closed.';
    killSession();
    await settle();
    const lease = await waiting;
    expect(lease.isHeld).toBe(true);
    expect((await there.mutex('a').inspect()).waiters).toEqual([]);
    expect(isHeld('b')).toBe(false);
    await lease.release();
  });

  it('releases the permits of its locks of other kinds', async () => {
    const semaphore = { ...requestFor('s'), kind: 'semaphore', slots: 3, permits: 2 } as const;
    await store.acquire(semaphore);
    killSession();
    await settle();
    const there = openOther();
    const leases = [1, 2, 3].map(() => there.semaphore('s', 3).tryAcquire());
    expect(await Promise.all(leases)).not.toContain(null);
  });

  it('does not record a request for a key of another type', async () => {
    command('LPUSH', 'lock:{a}', 'x');
    await expect(acquire('a')).rejects.toThrow(/WRONGTYPE/);
    expect(recorded()).toBe(0);
  });

  it.each(['lost by the client', 'killed on the server'])(
    'releases its other locks when a key was replaced by one of another type, and it is %s',
    async (how) => {
      await acquire('a', 'b', 'c');
      command('DEL', 'lock:{b}');
      command('LPUSH', 'lock:{b}', 'x');
      if (how === 'lost by the client') loseSession();
      else killSession();
      await settle();
      expect(['a', 'b', 'c'].map(isHeld)).toEqual([false, true, false]);
    },
  );

  it('has ended when the server refuses a request: all locks are lost, and another is opened', async () => {
    await acquire('a');
    killSession();
    await settle();
    expect(losses).toEqual([]);
    await expect(acquire('b')).rejects.toThrow(/has ended/);
    await settle();
    expect(losses).toEqual([expect.stringMatching(/has ended, and the locks with it/)]);
    expect(['a', 'b'].map(isHeld)).toEqual([false, false]);
    expect(await acquire('b')).toEqual(['granted']);
    expect(openedCount).toBe(2);
  });

  it('reports its end once, and releases all', async () => {
    await acquire('a', 'b');
    endSession();
    await settle();
    await acquire('c');
    expect(losses.length).toBe(1);
    expect(['a', 'b', 'c'].map(isHeld)).toEqual([false, false, true]);
  });

  it.each([
    ['the client has lost it', () => loseSession()],
    ['its process dies', () => killSession()],
  ])('releases more than 500 locks when %s', async (_, end) => {
    const names = Array.from({ length: 1200 }, (__, index) => `n${index}`);
    await acquire(...names);
    leavesOpen = true;
    end();
    await settle();
    expect(recorded()).toBe(0);
    expect(names.filter(isHeld)).toEqual([]);
  });

  it('releases no lock of the next session when the server notices its end later', async () => {
    await acquire('a');
    const endOnServer = killSession;
    leavesOpen = true;
    loseSession();
    await settle();
    await acquire('a');
    endOnServer();
    await settle();
    expect(isHeld('a')).toBe(true);
    expect(openedCount).toBe(2);
  });

  it('is not replaced by another before its locks are released', async () => {
    await acquire('a');
    const endOnServer = killSession;
    failsExits = true;
    leavesOpen = true;
    loseSession();
    await settle();
    // The lock could be granted, and then be released by the exit command of the first session.
    await expect(acquire('a', 'b')).rejects.toThrow(/Connection is closed/);
    expect(isHeld('b')).toBe(false);
    failsExits = false;
    expect(await acquire('a', 'b')).toEqual(['granted', 'granted']);
    endOnServer();
    await settle();
    expect(['a', 'b'].map(isHeld)).toEqual([true, true]);
  });

  it('does not serve requests if it ends while it is opened', async () => {
    onLoad = () => loseSession();
    await expect(acquire('a')).rejects.toThrow(/has ended/);
    expect(isHeld('a')).toBe(false);
    onLoad = () => {};
    expect(await acquire('a')).toEqual(['granted']);
  });

  it('releases the keys as the server knows them, of a client with a prefix', async () => {
    await store.close();
    store = openStore('prefix:');
    await acquire('a');
    expect(command('EXISTS', 'prefix:lock:{a}')).toBe(1);
    killSession();
    await settle();
    expect(command('EXISTS', 'prefix:lock:{a}')).toBe(0);
  });

  it('is closed with the store, and not opened again', async () => {
    await acquire('a');
    await store.close();
    await settle();
    expect(engine.exitCommands.sessionCount).toBe(0);
    expect(losses).toEqual([]);
    await expect(acquire('b')).rejects.toThrow(/closed/);
    await expect(session.open()).rejects.toThrow(/closed/);
    expect(isHeld('a')).toBe(false);
  });

  it('runs the exit command that was set, unless it was dropped', async () => {
    const script = scriptOf("return redis.call('SET', KEYS[1], ARGV[1])");
    // Without a session, they do nothing.
    await session.setExit('x', script, 'x', ['1']);
    await session.dropExit('x');
    await acquire('a');
    await session.setExit('kept', script, 'kept', ['1']);
    await session.setExit('dropped', script, 'dropped', ['1']);
    await session.dropExit('dropped');
    killSession();
    await settle();
    expect(['kept', 'dropped'].map((key) => command('GET', key))).toEqual(['1', null]);
  });
});

describe('locks with a session', () => {
  let here: Locks;
  beforeEach(() => {
    here = new Locks({ store, clock });
  });

  it('are released if the wait of their caller ended while the session was opened', async () => {
    const { opened, open } = gate();
    opening = opened;
    const leaving = new AbortController();
    const acquiring = here.mutex('a').acquire({ signal: leaving.signal });
    await settle();
    leaving.abort();
    await expect(acquiring).rejects.toThrow(/aborted/);
    open();
    await settle();
    expect(isHeld('a')).toBe(false);
    expect(recorded()).toBe(0);
  });

  it('outlive it when they were transferred', async () => {
    const lease = await here.mutex('a').acquire();
    const text = lease.transfer();
    await here.close();
    await settle();
    expect(engine.exitCommands.sessionCount).toBe(0);
    expect(isHeld('a')).toBe(true);
    const adopted = await openOther().adopt(text);
    expect(await adopted.release()).toBe('released');
  });

  it('outlive it when they were transferred while the server could not be reached', async () => {
    const lease = await here.mutex('a').acquire();
    scriptFailure = 'Connection is closed.';
    lease.transfer();
    await settle();
    scriptFailure = undefined;
    clock.advance(60);
    await settle();
    await here.close();
    await settle();
    expect(isHeld('a')).toBe(true);
  });

  it('are in the session of the client that adopts them', async () => {
    const there = openOther();
    const text = (await there.all(['a', 'b']).acquire({ lease: '1h' })).transfer();
    await here.adopt(text);
    expect(recorded()).toBe(2);
    killSession();
    await settle();
    expect(['a', 'b'].map(isHeld)).toEqual([false, false]);
  });

  it('are not recorded any more after their lease has expired', async () => {
    const lease = await here.mutex('a').acquire({ lease: '1h', renew: false });
    expect(recorded()).toBe(1);
    clock.advance(3_600_000);
    expect(lease.isHeld).toBe(false);
    await settle();
    expect(recorded()).toBe(0);
  });

  it('are not recorded any more after another client released them by force', async () => {
    const lease = await here.mutex('a').acquire();
    expect(recorded()).toBe(1);
    await openOther().mutex('a').forceRelease();
    await expect(lease.extend()).rejects.toThrow(LockLostError);
    await settle();
    expect(recorded()).toBe(0);
  });

  it('are lost without an unhandled rejection when the server cannot be reached', async () => {
    const lease = await here.mutex('a').acquire({ lease: '3s' });
    scriptFailure = 'Connection is closed.';
    for (let step = 0; step < 40; step++) {
      clock.advance(100);
      await settleOnce();
    }
    expect(lease.isHeld).toBe(false);
  });

  it('are lost with it, and the signals of their holders abort', async () => {
    const lease = await here.mutex('a').acquire();
    loseSession();
    await settle();
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.reason).toMatchObject({ code: 'lost', cause: session.ended });
    expect(await lease.release()).toBe('not-held');
  });

  it('are not held after a hand-over in a reply that arrives after its end', async () => {
    const there = openOther();
    const holder = await here.mutex('a').acquire();
    const waiting = here.mutex('a').acquire({ wait: '5s' });
    await settle();
    const behind = there.mutex('a').acquire({ wait: '5s' });
    await settle();
    const { opened: replied, open: reply } = gate();
    replying = replied;
    const released = holder.release();
    await settle();
    endSession();
    await settle();
    const lease = await behind;
    expect(lease.isHeld).toBe(true);
    replying = undefined;
    reply();
    await released;
    const isGranted = Promise.race([waiting.then(() => true), settle().then(() => false)]);
    expect(await isGranted).toBe(false);
    await lease.release();
    expect((await waiting).isHeld).toBe(true);
  });

  it('are not held after a grant in a reply that arrives after its end', async () => {
    await (await here.mutex('first').acquire()).release();
    const { opened: replied, open: reply } = gate();
    replying = replied;
    const waiting = here.mutex('a').acquire({ wait: '5s' });
    await settle();
    endSession();
    await settle();
    expect(isHeld('a')).toBe(false);
    replying = undefined;
    reply();
    await settle();
    clock.advance(60);
    await settle();
    expect((await waiting).isHeld).toBe(true);
    expect(isHeld('a')).toBe(true);
  });

  it('are acquired by a waiter in the next session, with the same owner', async () => {
    const there = openOther();
    await startListening(here, settle);
    const holder = await there.mutex('a').acquire();
    const owners: string[] = [];
    const onEvent = (event: unknown): void => void owners.push((event as { owner: string }).owner);
    for (const name of ['holdfast:acquire', 'holdfast:grant']) {
      diagnostics.subscribe(name, onEvent);
      onTestFinished(() => void diagnostics.unsubscribe(name, onEvent));
    }
    const waiting = here.mutex('a').acquire({ wait: '5s' });
    await settle();
    const endOnServer = killSession;
    leavesOpen = true;
    loseSession();
    await settle();
    expect((await there.mutex('a').inspect()).waiters).toHaveLength(1);
    await holder.release();
    const lease = await waiting;
    endOnServer();
    await settle();
    expect(await there.mutex('a').tryAcquire()).toBe(null);
    expect(await lease.release()).toBe('released');
    expect(owners.slice(0, 2)).toEqual([owners[0], owners[0]]);
  });

  it('keep their other waiters when the reply to a request is NOSESSION', async () => {
    const there = openOther();
    await startListening(here, settle);
    const holder = await there.mutex('a').acquire();
    const waiting = here.mutex('a').acquire({ wait: '50s' });
    await settle();
    killSession();
    await settle();
    const other = here.mutex('b').acquire({ wait: '4s' });
    await settle();
    clock.advance(60);
    await settle();
    await (await other).release();
    expect((await there.mutex('a').inspect()).waiters).toHaveLength(1);
    await holder.release();
    await settle();
    expect(await (await waiting).release()).toBe('released');
  });

  it.each(['mutex', 'semaphore'] as const)(
    'return unknown from a release after the end of the session: %s',
    async (kind) => {
      const there = openOther();
      const lockOf = (locks: Locks) =>
        kind === 'mutex' ? locks.mutex('a') : locks.semaphore('a', 1);
      const lease = await lockOf(here).acquire();
      killSession();
      await settle();
      const other = await lockOf(there).acquire();
      const released = lease.release();
      await settle();
      clock.advance(60);
      await settle();
      // The first request was refused, and the second finds no lease: the outcome is unknown.
      expect(await released).toBe('unknown');
      expect(await other.release()).toBe('released');
    },
  );

  it('are lost when they were granted in the same chunk as the reply NOSESSION', async () => {
    await (await here.mutex('first').acquire()).release();
    const { opened: replied, open: reply } = gate();
    replying = replied;
    const granted = here.mutex('a').acquire({ wait: '5s', lease: '1h' });
    await settle();
    killSession();
    await settle();
    const refused = here.mutex('b').acquire({ wait: '5s' });
    await settle();
    replying = undefined;
    reply();
    await settle();
    clock.advance(60);
    await settle();
    const lease = await granted;
    expect((await refused).isHeld).toBe(true);
    expect(lease.isHeld && !isHeld('a')).toBe(false);
  });
});
