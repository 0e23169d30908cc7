import diagnostics from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startListening } from '../../../test/listening.ts';
import { elapse, gate, settle } from '../../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../../clock/index.ts';
import { createEngine, type Engine, execute } from '../../engine/index.ts';
import { type Lease, Locks } from '../../lock/index.ts';
import { engineRunner } from './engine-runner.ts';
import { RedisStore } from './redis-store.ts';

let clock: VirtualClock;
let engine: Engine;
let here: Locks;
let there: Locks;
/** The operation of each request of `there`, in order. */
let operations: string[];
/** No `extend` is sent before this resolves. */
let extending: Promise<void> | undefined;
/** No reply to `queue` arrives before this resolves. */
let replying: Promise<void> | undefined;
/** No `queue` reaches the store before this resolves; and the number of those that were sent. */
let sending: Promise<void> | undefined;
let delayedCount: number;
/** Delayed messages to `there`. */
let heldUp: (() => void)[] | undefined;
let failsToListen: boolean;

beforeEach(async () => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  operations = [];
  heldUp = undefined;
  failsToListen = false;
  extending = undefined;
  replying = undefined;
  sending = undefined;
  delayedCount = 0;
  here = open('here', 1);
  there = open('there', 2);
  for (const locks of [here, there]) await startListening(locks, settle);
  operations = [];
});

afterEach(async () => {
  await here.close();
  await there.close();
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

function open(clientId: string, seed: number): Locks {
  const runner = engineRunner(engine);
  const store = new RedisStore(
    {
      ...runner,
      async run(script, keys, args) {
        const words = keys.map((_, index) => args[3 * index]!);
        if (clientId === 'there') operations.push(...words);
        if (words.includes('extend')) await extending;
        if (sending !== undefined && words.includes('queue')) {
          delayedCount++;
          await sending;
        }
        const reply = await runner.run(script, keys, args);
        if (words.includes('queue')) await replying;
        return reply;
      },
      listen(channel, onMessage, onGap) {
        const later = (text: string): void => {
          if (heldUp && clientId === 'there') heldUp.push(() => onMessage(text));
          else onMessage(text);
        };
        if (failsToListen) {
          return settle().then(() => Promise.reject(new Error('no connection')));
        }
        return runner.listen(channel, later, onGap);
      },
    },
    { clock, clientId, requestTimeoutMs: 5000 },
  );
  return new Locks({ store, clock, random: seededRandom(seed) });
}

/** A holder here, and a waiter there. With a promise, the replies to its requests arrive after that. */
async function waiter(
  options = {},
  repliesAfter?: Promise<void>,
): Promise<[Lease, Promise<Lease>]> {
  const holder = await here.mutex('a').acquire({ lease: '60s', renew: false });
  replying = repliesAfter;
  const waiting = there.mutex('a').acquire({ lease: '30s', wait: '50s', ...options });
  await settle();
  return [holder, waiting];
}

async function isGranted(waiting: Promise<unknown>): Promise<boolean> {
  return Promise.race([waiting.then(() => true), settle().then(() => false)]);
}

describe('a lock that is handed to another process', () => {
  it('is held on the message, and its lease is confirmed while the holder continues', async () => {
    const [holder, waiting] = await waiter();
    operations = [];
    const { opened: confirmed, open: confirm } = gate();
    extending = confirmed;
    clock.advance(900);
    const sentBefore = waiting.then(() => [...operations]);
    await holder.release();
    const lease = await waiting;
    // The confirmation is sent before the holder continues: it may block the event loop.
    expect(await sentBefore).toEqual(['extend']);
    // The reservation of 2 s may have started with the last refresh, 900 ms ago.
    expect(lease.expiresInMs).toBeGreaterThan(600);
    expect(lease.expiresInMs).toBeLessThan(1100);
    expect(lease.fence).toBeGreaterThan(holder.fence);
    confirm();
    await settle();
    expect(operations).toEqual(['extend']);
    expect(lease.expiresInMs).toBeGreaterThan(29_000);
    expect((await here.mutex('a').inspect()).holders).toMatchObject([{ fence: lease.fence }]);
    await lease.release();
  });

  it('counts its reservation from the last refresh, also after a long wait', async () => {
    const [holder, waiting] = await waiter();
    await elapse(clock, 10_500, 210);
    operations = [];
    const { opened: confirmed, open: confirm } = gate();
    extending = confirmed;
    await holder.release();
    const lease = await waiting;
    expect(operations).toEqual(['extend']);
    expect(lease.expiresInMs).toBeGreaterThan(600);
    confirm();
    await settle();
    expect(lease.expiresInMs).toBeGreaterThan(29_000);
  });

  it('reports heldMs since the hand-over', async () => {
    const times: number[] = [];
    const note = (event: unknown): void => void times.push((event as { heldMs: number }).heldMs);
    const [holder, waiting] = await waiter();
    clock.advance(900);
    await holder.release();
    const lease = await waiting;
    diagnostics.subscribe('holdfast:release', note);
    onTestFinished(() => void diagnostics.unsubscribe('holdfast:release', note));
    clock.advance(70);
    await lease.release();
    expect(times).toEqual([70]);
  });

  it('is requested again if the message overtakes the reply "busy", and held', async () => {
    const { opened: replied, open: reply } = gate();
    let waits = 0;
    const count = (): void => void waits++;
    diagnostics.subscribe('holdfast:wait', count);
    onTestFinished(() => void diagnostics.unsubscribe('holdfast:wait', count));
    const [holder, waiting] = await waiter({}, replied);
    operations = [];
    await holder.release();
    await settle();
    // The start of the lease is not known before the reply.
    expect(await isGranted(waiting)).toBe(false);
    replying = undefined;
    reply();
    const lease = await waiting;
    expect(waits).toBe(1);
    expect(operations).toEqual(['queue']);
    expect(lease.fence).toBeGreaterThan(holder.fence);
    expect(lease.expiresInMs).toBeGreaterThan(29_000);
  });

  it('is requested again if the message came late, and before the reply', async () => {
    const { opened: replied, open: reply } = gate();
    const [holder, waiting] = await waiter({}, replied);
    clock.advance(4900);
    await settle();
    await holder.release();
    await settle();
    replying = undefined;
    reply();
    expect((await waiting).isHeld).toBe(true);
  });

  it('is not released for a reply "busy" that was overtaken by the grant', async () => {
    const holder = await here.mutex('a').acquire();
    const { opened: replied, open: reply } = gate();
    replying = replied;
    const waiting = here.mutex('a').acquire({ wait: '50s' });
    await settle();
    await holder.release();
    const lease = await waiting;
    reply();
    await settle();
    expect(lease.isHeld).toBe(true);
    expect(await there.mutex('a').tryAcquire()).toBe(null);
  });

  it('is released if a delayed request is granted again after the release', async () => {
    // When the subscription fails, the waiter sends its request again although it is in the queue.
    const fresh = open('fresh', 3);
    failsToListen = true;
    const holder = await fresh.mutex('a').acquire();
    const waiting = fresh.mutex('a').acquire({ wait: '50s' });
    for (let turn = 0; turn < 3; turn++) await settle();
    const { opened: sent, open: send } = gate();
    sending = sent;
    clock.advance(60);
    await settle();
    await holder.release();
    await (await waiting).release();
    expect((await here.mutex('a').inspect()).holders).toEqual([]);
    send();
    await settle();
    const { holders, waiters } = await here.mutex('a').inspect();
    expect([delayedCount, holders, waiters]).toEqual([1, [], []]);
    await fresh.close();
  });

  it('is confirmed also with renew: false', async () => {
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

  it('is requested first if the reservation may have ended since the last refresh', async () => {
    const [holder, waiting] = await waiter();
    // The event loop was blocked: no reply to a refresh was read.
    clock.advance(1980);
    operations = [];
    await holder.release();
    const lease = await waiting;
    expect(operations).toContain('queue');
    expect(operations).not.toContain('extend');
    expect(lease.expiresInMs).toBeGreaterThan(29_000);
    await lease.release();
  });

  it.each([
    ['before the waiter sent its request again', 0],
    ['after the waiter sent its request again', 3000],
  ])('is not held by a message that comes %s, when another has the lock', async (_, laterMs) => {
    const [holder, waiting] = await waiter({ wait: '200s' });
    heldUp = [];
    await holder.release();
    // The reservation ends, and another client holds the lock when the message arrives.
    clock.advance(2001);
    const other = await here.mutex('a').acquire({ lease: '60s', renew: false });
    await elapse(clock, laterMs);
    expect(heldUp).toHaveLength(1);
    for (const deliver of heldUp.splice(0)) deliver();
    heldUp = undefined;
    expect(await isGranted(waiting)).toBe(false);
    expect(other.isHeld).toBe(true);
    await other.release();
    expect((await waiting).fence).toBeGreaterThan(other.fence);
  });

  it('is not held after a message of another program, and messages without a fence are ignored', async () => {
    const [holder, waiting] = await waiter();
    const publish = engine.session();
    for (const text of ['', 'x', '1', '1 ', 'there.0', '-1 there.0 ["",0,""]']) {
      execute(publish, ['PUBLISH', 'holdfast:there', text]);
    }
    publish.close();
    expect(await isGranted(waiting)).toBe(false);
    await holder.release();
    await (await waiting).release();
  });
});
