import { createHash } from 'node:crypto';
import diagnostics from 'node:diagnostics_channel';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startListening } from '../../test/listening.ts';
import { gate, settle } from '../../test/virtual-time.ts';
import { systemClock, virtualClock } from '../clock/index.ts';
import { createEngine, type Engine, execute } from '../engine/index.ts';
import { Locks } from '../lock/index.ts';
import { ErrorReply } from '../resp/index.ts';
import { engineRunner } from './engine-runner.ts';
import { toWords } from './lock-call.ts';
import { LOCK_SCRIPT } from './lock-script.ts';
import type { ScriptRunner } from './script-runner.ts';
import { ScriptStore } from './script-store.ts';
import { SessionRunner } from './session-runner.ts';

const SCRIPT = {
  text: LOCK_SCRIPT,
  sha: createHash('sha1').update(LOCK_SCRIPT).digest('hex'),
} as const;

let engine: Engine;
/** What the next commands that leave a will are answered with, before the engine hears of them. */
let failures: string[];
let opened: number;
let endSession: () => void;
/** The server alone knows of the end, as if this process had died. */
let killSession: () => void;
/** This process alone knows of the end, and the server will hear of it later. */
let loseSession: () => void;
/** Whether commands that take a will back are lost. */
let losesDrops: boolean;
/** Called when a session was opened, and the script is about to be loaded. */
let onLoad = (): void => {};
/** Until then no session is opened, and no will dropped. */
let waitingFor: Promise<void> | undefined;
/** Until then all replies of scripts are on their way. */
let replying: Promise<void> | undefined;
/** Releases that are on their way for long, though the connection has ended that they were sent on. */
let delayed: (() => Promise<unknown>)[] | undefined;
let runner: SessionRunner;
let losses: string[];

beforeEach(() => {
  engine = createEngine();
  failures = [];
  losesDrops = false;
  onLoad = () => {};
  opened = 0;
  losses = [];
  waitingFor = undefined;
  replying = undefined;
  delayed = undefined;
  runner = newRunner('');
  runner.onLost(({ message }) => losses.push(message));
});

function newRunner(keyPrefix: string): SessionRunner {
  const inner = engineRunner(engine);
  const run: ScriptRunner['run'] = async (...call) => {
    if (delayed && toWords(call[2])[0] === 'release') {
      delayed.push(() => inner.run(...call));
      throw new Error('Connection is closed.');
    }
    const reply = await inner.run(...call);
    await replying;
    return reply;
  };
  return new SessionRunner({ runner: { ...inner, run }, command, open, keyPrefix });
}

const client = (): ReturnType<Engine['session']> => engine.session();

async function command(words: string[]): Promise<unknown> {
  const failure = words[1] === 'SET' ? failures.shift() : undefined;
  if (failure !== undefined) throw new Error(failure);
  if (words[1] === 'LOAD') onLoad();
  if (words[1] === 'DROP') await waitingFor;
  if (words[1] === 'DROP' && losesDrops) throw new Error('Connection is closed.');
  const reply = execute(client(), words);
  if (reply instanceof ErrorReply) throw new Error(reply.message);
  return reply;
}

async function open(): Promise<{ id: string; ended: Promise<void>; close(): void }> {
  await waitingFor;
  const session = client();
  const id = `session ${++opened}`;
  execute(session, ['HOLDFAST.SESSION', id]);
  let tell = (): void => {};
  const ended = new Promise<void>((resolve) => {
    tell = resolve;
  });
  killSession = () => session.close();
  loseSession = () => {
    endSession = () => {};
    tell();
  };
  endSession = () => {
    session.close();
    tell();
  };
  return { id, ended, close: () => endSession() };
}

const ask = (...names: string[]): Promise<unknown> =>
  runner.run(SCRIPT, names, [
    'channel',
    ...names.flatMap((name) => ['ask', `${name}1 ["",0,""]`, '3600000']),
  ]);

const value = (key: string): unknown => execute(client(), ['GET', key]);

describe('a runner with a session', () => {
  it('opens one session, when it is first needed', async () => {
    await runner.run(SCRIPT, ['a'], ['channel', 'release', 'a1 ["",0,""]', '0']);
    expect(opened).toBe(0);
    await Promise.all([ask('a'), ask('b')]);
    expect(opened).toBe(1);
    expect(engine.wills.count).toBe(2);
  });

  it('gives back what it has no will for', async () => {
    await ask('kept');
    failures = ['ERR A session cannot have more than 100000 wills'];
    await expect(ask('a', 'b')).rejects.toThrow(/more than 100000 wills/);
    expect([value('a'), value('b')]).toEqual([null, null]);
    expect(value('kept')).toBe('kept1 ["",0,""]');
    expect(engine.wills.count).toBe(1);
    expect(losses).toEqual([]);
  });

  it('gives back what it has no will for until the server has heard of it', async () => {
    await ask('kept');
    failures = ['ERR A session cannot have more than 100000 wills'];
    delayed = [];
    await expect(ask('a')).rejects.toThrow(/more than 100000 wills/);
    expect(value('a')).toBe('a1 ["",0,""]');
    delayed = undefined;
    await vi.waitFor(() => expect(value('a')).toBe(null));
  });

  it('leaves no will for a key that is no lock', async () => {
    execute(client(), ['LPUSH', 'a', 'x']);
    await expect(ask('a')).rejects.toThrow(/WRONGTYPE/);
    await settle();
    expect(engine.wills.count).toBe(0);
  });

  it('takes back what stands beside a key that is no lock any more', async () => {
    await ask('a');
    await ask('b');
    execute(client(), ['DEL', 'a']);
    execute(client(), ['LPUSH', 'a', 'x']);
    loseSession();
    await settle();
    expect(value('b')).toBe(null);
  });

  it('leaves the will again when the server had forgotten the script', async () => {
    await ask('kept');
    failures = ['NOSCRIPT No matching script. Please use EVAL.'];
    expect(Number(await ask('a'))).toBeGreaterThan(0);
    expect(engine.wills.count).toBe(2);
    failures = ['NOSCRIPT', 'NOSCRIPT'];
    await expect(ask('b')).rejects.toThrow(/NOSCRIPT/);
    expect(value('b')).toBe(null);
  });

  it('is told by a will that cannot be left that the session has ended', async () => {
    await ask('a');
    failures = ['NOSESSION There is no session of this name'];
    await expect(ask('b')).rejects.toThrow(/NOSESSION/);
    expect(losses).toEqual([expect.stringMatching(/has ended, and the locks with it/)]);
    expect([value('a'), value('b')]).toEqual([null, null]);
    // The next one opens another.
    await ask('b');
    expect(opened).toBe(2);
    expect(engine.wills.count).toBe(1);
  });

  it('loses everything with the session, once, and releases it', async () => {
    await ask('a');
    await ask('b');
    endSession();
    // Whoever asks before it is known is refused, and may ask again.
    await expect(ask('c')).rejects.toThrow(/NOSESSION/);
    await ask('c');
    expect(losses.length).toBe(1);
    expect([value('a'), value('b')]).toEqual([null, null]);
    expect(value('c')).toBe('c1 ["",0,""]');
  });

  it('takes its wills back from a session that has ended, so that they cannot come late', async () => {
    await ask('a');
    execute(client(), ['CLIENT', 'PAUSE', '50', 'WRITE']);
    endSession();
    // Else it would be held up by the pause now, and run at its end.
    await new Promise((resolve) => setImmediate(resolve));
    expect(engine.wills.count).toBe(0);
    expect(losses.length).toBe(1);
  });

  it('asks for nothing before it has taken back what a session has left that the server still knows', async () => {
    await ask('a');
    const endOnServer = killSession;
    losesDrops = true;
    loseSession();
    await settle();
    // It could be granted, and then be released by the will of the first session.
    await expect(ask('a')).rejects.toThrow(/Connection is closed/);
    losesDrops = false;
    await ask('a');
    endOnServer();
    await settle();
    expect(value('a')).toBe('a1 ["",0,""]');
    expect(engine.wills.count).toBe(1);
  });

  it('leaves no will with a session that ended while it was opened', async () => {
    onLoad = () => loseSession();
    await expect(ask('a')).rejects.toThrow(/has ended/);
    expect(engine.wills.count).toBe(0);
    expect(value('a')).toBe(null);
    onLoad = () => {};
    await ask('a');
    expect(engine.wills.count).toBe(1);
  });

  it('keeps the will of who asked again before the first answer came', async () => {
    const { opened: replied, open: reply } = gate();
    await runner.run(SCRIPT, ['a'], ['channel', 'ask', 'a2 ["",0,""]', '3600000']);
    replying = replied;
    const asked = ask('a');
    const standing = runner.run(SCRIPT, ['a'], ['channel', 'line', 'a1 ["",0,""]', '3600000']);
    await settle();
    reply();
    await Promise.all([asked, standing]);
    await settle();
    expect(engine.wills.count).toBe(2);
  });

  it('leaves wills for the keys as the server knows them', async () => {
    runner = newRunner('prefix:');
    await ask('a');
    execute(client(), ['SET', 'prefix:a', 'a1 ["",0,""]']);
    killSession();
    await new Promise((resolve) => setImmediate(resolve));
    expect(value('prefix:a')).toBe(null);
  });

  it('leaves wills that speak for nobody’s channel: a waiter of the same client is called', async () => {
    await ask('a');
    await runner.run(SCRIPT, ['a'], ['channel', 'line', 'a2 ["",0,""]', '3600000']);
    const heard: unknown[] = [];
    const listener = engine.session({
      push: (reply) => heard.push(reply),
      resume() {},
      close() {},
    });
    execute(listener, ['SUBSCRIBE', 'channel']);
    killSession();
    await new Promise((resolve) => setImmediate(resolve));
    expect(heard).toMatchObject([{ items: ['message', 'channel', expect.stringMatching(/ a2 /)] }]);
  });

  it('opens no session any more once it is closed, and ends the one it has', async () => {
    await ask('a');
    await runner.close();
    expect(engine.wills.sessionCount).toBe(0);
    expect(losses).toEqual([]);
    await expect(ask('b')).rejects.toThrow(/closed/);
  });

  it('releases nothing before it is asked for, while a session is opened', async () => {
    let go = (): void => {};
    waitingFor = new Promise((resolve) => {
      go = resolve;
    });
    const asked = ask('a');
    // Whoever asked has given up meanwhile.
    const released = runner.run(SCRIPT, ['a'], ['channel', 'release', 'a1 ["",0,""]', '0']);
    go();
    await Promise.all([asked, released]);
    expect(value('a')).toBe(null);
    expect(engine.wills.count).toBe(0);
  });

  it('does not end before it has been told what was given away', async () => {
    const clock = systemClock;
    const store = new ScriptStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    const locks = new Locks({ store, clock });
    const lease = await locks.mutex('a').acquire();
    waitingFor = settle();
    lease.transfer();
    await locks.close();
    await settle();
    expect(engine.wills.sessionCount).toBe(0);
    expect(value('lock:{a}')).not.toBe(null);
  });

  it('takes a will back as soon as the server hears of it, unless it was left again', async () => {
    await ask('a', 'b');
    losesDrops = true;
    const disowned = runner.disown('a', 'a1');
    void runner.disown('b', 'b1');
    await ask('b');
    losesDrops = false;
    await disowned;
    expect(engine.wills.count).toBe(1);
    killSession();
    await settle();
    expect([value('a'), value('b')]).toEqual(['a1 ["",0,""]', null]);
  });

  it('keeps no will for a lease that ended by itself', async () => {
    const clock = virtualClock();
    const store = new ScriptStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    const locks = new Locks({ store, clock });
    const lease = await locks.mutex('a').acquire({ lease: '1h', renew: false });
    expect(engine.wills.count).toBe(1);
    clock.advance(3_600_000);
    expect(lease.isHeld).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(engine.wills.count).toBe(0);
    await locks.close();
  });

  function locksOf(own: ScriptRunner, clientId: string): Locks {
    const store = new ScriptStore(own, { clock: systemClock, clientId, requestTimeoutMs: 5000 });
    return new Locks({ store, clock: systemClock });
  }

  it('has lost what was handed over in a reply that comes after its end', async () => {
    const [here, there] = [locksOf(runner, 'here'), locksOf(engineRunner(engine), 'there')];
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
    expect((await behind).isHeld).toBe(true);
    replying = undefined;
    reply();
    await released;
    await settle();
    let isGranted = false;
    const granted = waiting.then(() => {
      isGranted = true;
    });
    await settle();
    expect(isGranted).toBe(false);
    await (await behind).release();
    await granted;
    await Promise.all([here.close(), there.close()]);
  });

  it.each(['ends', 'cannot take a will'])(
    'is not hurt by a late release of who waited, after a session that %s',
    async (fault) => {
      const [here, there] = [locksOf(runner, 'here'), locksOf(engineRunner(engine), 'there')];
      await startListening(here, settle);
      const holder = await there.mutex('a').acquire();
      delayed = [];
      if (fault !== 'ends') failures = ['Connection is closed.'];
      const owners: string[] = [];
      const onEvent = (event: unknown): void =>
        void owners.push((event as { owner: string }).owner);
      for (const name of ['holdfast:acquire', 'holdfast:grant']) {
        diagnostics.subscribe(name, onEvent);
        onTestFinished(() => void diagnostics.unsubscribe(name, onEvent));
      }
      const waiting = here.mutex('a').acquire({ wait: '5s' });
      await settle();
      if (fault === 'ends') loseSession();
      await settle();
      const late = delayed;
      expect(late.length).toBeGreaterThan(0);
      delayed = undefined;
      await holder.release();
      if (fault === 'ends') await waiting;
      await settle();
      for (const arrive of late) await arrive();
      const lease = await waiting;
      expect(await there.mutex('a').tryAcquire()).toBe(null);
      expect(await lease.release()).toBe('released');
      expect(owners[0]).toBe(owners[1]);
      await Promise.all([here.close(), there.close()]);
    },
  );

  it.each(['NOSESSION There is no session of this name', 'ERR too many wills'])(
    'leaves the others in line as they are when it gives something back: %s',
    async (failure) => {
      const [here, there] = [locksOf(runner, 'here'), locksOf(engineRunner(engine), 'there')];
      await startListening(here, settle);
      const holder = await there.mutex('a').acquire();
      const waiting = here.mutex('a').acquire({ wait: '4s' });
      await settle();
      failures = [failure];
      await (await here.mutex('b').acquire({ wait: '4s' })).release();
      await settle();
      expect((await there.mutex('a').inspect()).waiters).toHaveLength(1);
      await holder.release();
      const lease = await waiting;
      expect(engine.wills.count).toBe(1);
      expect(await lease.release()).toBe('released');
      await Promise.all([here.close(), there.close()]);
    },
  );

  it('gives nothing back that was asked for again before the first answer came', async () => {
    const store = new ScriptStore(runner, {
      clock: systemClock,
      clientId: 'here',
      requestTimeoutMs: 200,
    });
    const [here, there] = [new Locks({ store }), locksOf(engineRunner(engine), 'there')];
    await (await here.mutex('first').acquire()).release();
    const { opened: replied, open: reply } = gate();
    replying = replied;
    failures = ['ERR too many wills'];
    const granted = here.mutex('a').acquire({ wait: '4s' });
    await new Promise((resolve) => setTimeout(resolve, 300));
    replying = undefined;
    reply();
    const lease = await granted;
    await settle();
    expect(await there.mutex('a').tryAcquire()).toBe(null);
    expect(await lease.release()).toBe('released');
    await settle();
    expect(engine.wills.count).toBe(0);
    await Promise.all([here.close(), there.close()]);
  });

  it('does not let a holder believe that it released what a will has ended', async () => {
    const [here, there] = [locksOf(runner, 'here'), locksOf(engineRunner(engine), 'there')];
    const lease = await here.semaphore('a', 1).acquire();
    killSession();
    const other = await there.semaphore('a', 1).acquire({ wait: '4s' });
    expect(await lease.release()).toBe('notHeld');
    expect(await other.release()).toBe('released');
    await Promise.all([here.close(), there.close()]);
  });

  it('leaves nothing of a group that was lost while it was adopted', async () => {
    const [here, there] = [locksOf(runner, 'here'), locksOf(engineRunner(engine), 'there')];
    const text = (await there.all(['a', 'b']).acquire({ lease: '1h' })).transfer();
    const onGrant = (): void => {
      failures = ['NOSESSION There is no session of this name'];
    };
    diagnostics.subscribe('holdfast:grant', onGrant);
    onTestFinished(() => void diagnostics.unsubscribe('holdfast:grant', onGrant));
    await expect(here.adopt(text)).rejects.toThrow(/not held/);
    await settle();
    expect(await there.all(['a', 'b']).tryAcquire()).not.toBe(null);
    expect(engine.wills.count).toBe(0);
    await Promise.all([here.close(), there.close()]);
  });

  it('has lost what was granted by an answer that came together with that of its end', async () => {
    const here = locksOf(runner, 'here');
    await (await here.mutex('first').acquire()).release();
    const { opened: replied, open: reply } = gate();
    replying = replied;
    const granted = here.mutex('a').acquire({ wait: '5s', lease: '1h' });
    await settle();
    failures = ['NOSESSION There is no session of this name'];
    const refused = here.mutex('b').acquire({ wait: '5s' });
    await settle();
    replying = undefined;
    reply();
    const lease = await granted;
    await refused;
    await settle();
    expect(lease.isHeld && value('lock:{a}') === null).toBe(false);
    await here.close();
  });

  it('looks again for what was handed over, if no will could be left for it', async () => {
    const [here, there] = [locksOf(runner, 'here'), locksOf(engineRunner(engine), 'there')];
    await startListening(here, settle);
    const holder = await here.mutex('a').acquire();
    const { opened: replied, open: reply } = gate();
    replying = replied;
    failures = ['ERR too many wills'];
    const waiting = here.mutex('a').acquire({ wait: '5s' });
    await settle();
    const released = holder.release();
    await settle();
    replying = undefined;
    reply();
    await released;
    await settle();
    const lease = await Promise.race([waiting, settle()]);
    const other = await there.mutex('a').tryAcquire();
    expect(lease?.isHeld && other?.isHeld).toBeFalsy();
    await other?.release();
    await Promise.all([here.close(), there.close()]);
  });

  it('leaves other scripts alone', async () => {
    expect(await runner.run({ text: 'return 1', sha: '' }, [], ['x', 'ask', 'y'])).toBe(1);
    expect(opened).toBe(0);
  });
});
