import diagnostics from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { elapse, gate, settle } from '../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { createEngine, type Engine } from '../engine/index.ts';
import { type Lease, Locks } from '../lock/index.ts';
import { engineRunner } from './engine-runner.ts';
import { toWords } from './lock-call.ts';
import { ScriptStore } from './script-store.ts';

let clock: VirtualClock;
let engine: Engine;
let here: Locks;
let there: Locks;
/** The first word of each request of `there`, in order. */
let verbs: string[];
/** Until then the lease is not confirmed. */
let confirming: Promise<void> | undefined;
/** Until then nobody there learns that it has to wait. */
let answering: Promise<void> | undefined;
/** Until then nobody's request to stand in line reaches the store, and how many did not. */
let sending: Promise<void> | undefined;
let overtaken: number;
/** Messages to `there`, while they are held up. */
let heldUp: (() => void)[] | undefined;

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  verbs = [];
  heldUp = undefined;
  confirming = undefined;
  answering = undefined;
  sending = undefined;
  overtaken = 0;
  here = open('here', 1);
  there = open('there', 2);
});

afterEach(async () => {
  await here.close();
  await there.close();
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

function open(clientId: string, seed: number): Locks {
  const runner = engineRunner(engine);
  const store = new ScriptStore(
    {
      ...runner,
      async run(script, keys, args) {
        const words = toWords(args);
        if (clientId === 'there') verbs.push(...words.filter((_, at) => at % 3 === 0));
        if (words.includes('extend')) await confirming;
        if (sending !== undefined && words.includes('line')) {
          overtaken++;
          await sending;
        }
        const reply = await runner.run(script, keys, args);
        if (words.includes('line')) await answering;
        return reply;
      },
      listen(channel, onMessage, onGap) {
        const later = (text: string): void => {
          if (heldUp && clientId === 'there') heldUp.push(() => onMessage(text));
          else onMessage(text);
        };
        return runner.listen(channel, later, onGap);
      },
    },
    { clock, clientId, requestTimeoutMs: 5000 },
  );
  return new Locks({ store, clock, random: seededRandom(seed) });
}

/** What is published there from now on. */
async function messagesTo(channel: string): Promise<string[]> {
  const heard: string[] = [];
  await engineRunner(engine).listen(
    channel,
    (text) => heard.push(text),
    () => {},
  );
  return heard;
}

/** Holds it up to just before somebody there is to be called. */
async function waiter(options = {}): Promise<[Lease, Promise<Lease>]> {
  const holder = await here.mutex('a').acquire({ lease: '60s', renew: false });
  const waiting = there.mutex('a').acquire({ lease: '30s', wait: '50s', ...options });
  await settle();
  return [holder, waiting];
}

describe('a lock that is handed to another process', () => {
  it('is held with the message, and its lease is confirmed while the holder goes on', async () => {
    const [holder, waiting] = await waiter();
    verbs = [];
    const { opened: confirmed, open: confirm } = gate();
    confirming = confirmed;
    clock.advance(1000);
    const sentBefore = waiting.then(() => [...verbs]);
    await holder.release();
    const lease = await waiting;
    // Before the holder goes on: it may block, and nothing would be sent for as long.
    expect(await sentBefore).toEqual(['extend']);
    expect(lease.expiresInMs).toBeGreaterThan(3000);
    expect(lease.expiresInMs).toBeLessThan(4000);
    expect(lease.fence).toBeGreaterThan(holder.fence);
    confirm();
    await settle();
    expect(verbs).toEqual(['extend']);
    expect(lease.expiresInMs).toBeGreaterThan(29_000);
    expect((await here.mutex('a').inspect()).holders).toMatchObject([{ fence: lease.fence }]);
    await lease.release();
  });

  it('is told to have been held since then', async () => {
    const times: number[] = [];
    const note = (event: unknown): void => void times.push((event as { heldMs: number }).heldMs);
    const [holder, waiting] = await waiter();
    clock.advance(1000);
    await holder.release();
    const lease = await waiting;
    diagnostics.subscribe('holdfast:release', note);
    onTestFinished(() => void diagnostics.unsubscribe('holdfast:release', note));
    clock.advance(70);
    await lease.release();
    expect(times).toEqual([70]);
  });

  it('is held with a message that overtakes the answer that it has to wait', async () => {
    const { opened: answered, open: answer } = gate();
    answering = answered;
    let waits = 0;
    const count = (): void => void waits++;
    diagnostics.subscribe('holdfast:wait', count);
    onTestFinished(() => void diagnostics.unsubscribe('holdfast:wait', count));
    const [holder, waiting] = await waiter();
    verbs = [];
    await holder.release();
    const lease = await waiting;
    expect(waits).toBe(1);
    answer();
    await settle();
    expect(verbs).toEqual(['extend']);
    expect(lease.fence).toBeGreaterThan(holder.fence);
    expect(lease.isHeld).toBe(true);
  });

  it('is asked for again if the message came late, and before the answer', async () => {
    const { opened: answered, open: answer } = gate();
    answering = answered;
    const [holder, waiting] = await waiter();
    clock.advance(4900);
    await settle();
    await holder.release();
    await settle();
    answering = undefined;
    answer();
    await settle();
    verbs = [];
    expect((await waiting).isHeld).toBe(true);
  });

  it('is not given back for an answer that was overtaken by the grant', async () => {
    const holder = await here.mutex('a').acquire({ lease: '3s' });
    const waiting = here.mutex('a').acquire({ wait: '50s' });
    await settle();
    const { opened: answered, open: answer } = gate();
    answering = answered;
    for (let step = 0; step < 40; step++) {
      clock.advance(100);
      await settle();
    }
    await holder.release();
    const lease = await waiting;
    answer();
    await settle();
    expect(lease.isHeld).toBe(true);
    expect(await there.mutex('a').tryAcquire()).toBe(null);
  });

  it('is given back, if a request that was overtaken gets it once more', async () => {
    const holder = await here.mutex('a').acquire({ lease: '3s' });
    const waiting = here.mutex('a').acquire({ wait: '50s' });
    await settle();
    const { opened: sent, open: send } = gate();
    sending = sent;
    for (let step = 0; step < 40; step++) {
      clock.advance(100);
      await settle();
    }
    await holder.release();
    await (await waiting).release();
    expect((await here.mutex('a').inspect()).holders).toEqual([]);
    send();
    await settle();
    expect((await here.mutex('a').inspect()).holders).toEqual([]);
    expect(overtaken).toBe(1);
  });

  it('is had by the next, soon after the one that was called has died', async () => {
    const [holder, dead] = await waiter({ wait: '300s' });
    void dead.catch(() => {});
    const second = here.mutex('a').acquire({ wait: '200s' });
    await settle();
    heldUp = [];
    await holder.release();
    for (let step = 0; step < 51; step++) {
      clock.advance(100);
      await settle();
    }
    expect((await second).isHeld).toBe(true);
  });

  it.each([
    [0, 1],
    [2, 1],
    [3, 1],
    [19, 1],
    // Too far behind: its own timer tells it.
    [21, 0],
  ])('is watched by another client, past %i of the one that was called', async (between) => {
    const elsewhere = open('elsewhere', 3);
    const holder = await elsewhere.mutex('a').acquire();
    const ours = Array.from({ length: between + 1 }, () =>
      there.mutex('a').acquire({ wait: '50s' }),
    );
    await settle();
    const watching = here.mutex('a').acquire({ wait: '50s' });
    await settle();
    const heard = await messagesTo('holdfast:here');
    await holder.release();
    expect(heard.filter((text) => text.startsWith('0 here.'))).toHaveLength(1);
    for (const waiting of [...ours, watching]) await (await waiting).release();
    await elsewhere.close();
  });

  it('is watched by the client that released it, which the reply tells', async () => {
    const holder = await here.mutex('a').acquire();
    heldUp = [];
    const dead = there.mutex('a').acquire({ wait: '50s' });
    await settle();
    const watching = here.mutex('a').acquire({ wait: '50s' });
    await settle();
    const heard = await messagesTo('holdfast:here');
    await holder.release();
    // Long before its own time to look, which was that of the first holder's lease.
    await elapse(clock, 5100);
    await (await watching).release();
    expect(heard).toEqual([]);
    for (const message of heldUp) message();
    await (await dead).release();
  });

  it('is confirmed even if it is not to be renewed', async () => {
    const [holder, waiting] = await waiter({ renew: false });
    await holder.release();
    const lease = await waiting;
    await settle();
    expect(lease.expiresInMs).toBeGreaterThan(29_000);
    clock.advance(29_000);
    await settle();
    expect(lease.isHeld).toBe(true);
    clock.advance(1000);
    expect(lease.isHeld).toBe(false);
  });

  it('is asked for first, if the reservation may have ended since it was asked for', async () => {
    const [holder, waiting] = await waiter();
    verbs = [];
    clock.advance(4960);
    await holder.release();
    const lease = await waiting;
    expect(verbs).toEqual(['line']);
    expect(lease.expiresInMs).toBeGreaterThan(29_000);
    await lease.release();
  });

  it.each([
    ['before it asked again', 0],
    ['after it asked again', 60_100 - 5001],
  ])('is not held by a message that is late, %s', async (_name, laterMs) => {
    const [holder, waiting] = await waiter({ wait: '200s' });
    heldUp = [];
    await holder.release();
    // The reservation ends, and somebody else has the lock when the message comes.
    clock.advance(5001);
    const other = await here.mutex('a').acquire({ lease: '60s', renew: false });
    clock.advance(laterMs);
    await settle();
    let isGranted = false;
    void waiting.then(() => {
      isGranted = true;
    });
    expect(heldUp).toHaveLength(1);
    for (const deliver of heldUp.splice(0)) deliver();
    heldUp = undefined;
    await settle();
    expect(other.isHeld).toBe(true);
    expect(isGranted).toBe(false);
    await other.release();
    expect((await waiting).fence).toBeGreaterThan(other.fence);
  });
});

describe('a waiter that is told to watch over those before it', () => {
  it('still asks often enough to keep its place, however often it is told', async () => {
    const other = open('other', 3);
    const few = { lease: '5s', wait: '60s' } as const;
    const [holders, before, watcher] = [here, other, there].map((each) => each.semaphore('a', 20));
    const held = await Promise.all(Array.from({ length: 20 }, () => holders!.acquire(few)));
    const waiting = held.map(() => before!.acquire(few));
    await settle();
    const last = watcher!.acquire(few);
    await settle();
    // Its place is kept for 15 seconds unless it asks, and each release calls another and warns it.
    for (const holder of held.slice(0, 17)) {
      await holder.release();
      for (let step = 0; step < 2; step++) {
        clock.advance(500);
        await settle();
      }
    }
    expect((await watcher!.inspect()).waiters).toHaveLength(3 + 1);
    await Promise.all(held.slice(17).map((holder) => holder.release()));
    await (await waiting[0]!).release();
    await last;
    await other.close();
  });

  it('looks when the reservation ends, though it began to wait in the same call', async () => {
    // The first of a client to wait begins to listen before it stands in line.
    const other = await here.mutex('b').acquire();
    const listening = here.mutex('b').acquire({ wait: '1s' });
    await settle();
    await other.release();
    await (await listening).release();
    const [holder, dead] = await waiter({ wait: '300s' });
    void dead.catch(() => {});
    heldUp = [];
    const waiting = here.mutex('a').acquire({ lease: '60s', wait: '50s' });
    await holder.release();
    await elapse(clock, 5010);
    expect((await here.mutex('a').inspect()).waiters).toEqual([]);
    await (await waiting).release();
  });
});
