import { describe, expect, it } from 'vitest';
import { elapse, settle } from '../../../test/virtual-time.ts';
import { seededRandom, virtualClock } from '../../clock/index.ts';
import type { LockRequest, WaiterEvent } from '../../lock/index.ts';
import type { Database } from './database.ts';
import { PostgresStore } from './postgres-store.ts';
import { SCHEMA_VERSION } from './schema.ts';

/** A store on a database whose replies the test gives, in any order. */
function openStore({ maxQueries = 10 } = {}) {
  const clock = virtualClock();
  const sent: { text: string; reply(value: unknown): void; fail(error: Error): void }[] = [];
  const database: Database = {
    maxQueries,
    query(text) {
      if (text.includes('version')) return Promise.resolve(`${SCHEMA_VERSION}`);
      return new Promise((resolve, reject) => {
        sent.push({ text, reply: (value) => resolve(JSON.stringify(value)), fail: reject });
      });
    },
  };
  const store = new PostgresStore({
    ...{ database, clock, random: seededRandom(1), requestTimeoutMs: 2000 },
    ...{ schema: 'holdfast', createTables: false, openListen: undefined },
  });
  const info = { host: 'h', pid: 1, label: '' };
  const request = (id: string): LockRequest => ({
    ...{ kind: 'mutex', name: 'a', slots: 1, permits: 1, leaseMs: 30_000, info },
    owner: store.ownerPrefix + id,
  });
  /** The first call of this function that has no reply yet. */
  const next = async (name: string) => {
    await settle();
    const index = sent.findIndex(({ text }) => text.includes(`.${name}(`));
    return index < 0 ? undefined : sent.splice(index, 1)[0]!;
  };
  return { clock, store, request, next, sent };
}

const BUSY = { busy: 20_000, served: [] };

describe('a waiter that a request of its own process serves', () => {
  it('keeps the lock if its own reply arrives first', async () => {
    const { store, request, next } = openStore();
    const [holder, waiter] = [request('1'), request('2')];
    const events: WaiterEvent[] = [];
    const queued = store.acquire(waiter, { notify: (event) => events.push(event) });
    (await next('acquire'))!.reply(BUSY);
    await queued;
    const released = store.release(holder);
    const releasing = (await next('release'))!;
    const again = store.acquire(waiter, { notify: (event) => events.push(event) });
    (await next('acquire'))!.reply({ fence: 7, served: [] });
    expect(await again).toEqual({ type: 'granted', fence: 7 });
    releasing.reply({ released: true, served: [['mutex', 'a', waiter.owner, 7]] });
    expect(await released).toBe(true);
    expect(await next('release')).toBe(undefined);
    await store.close();
  });

  it('is released if it has left the queue before', async () => {
    const { store, request, next } = openStore();
    const [holder, waiter] = [request('1'), request('2')];
    const queued = store.acquire(waiter, { notify() {} });
    (await next('acquire'))!.reply(BUSY);
    await queued;
    const left = store.release(waiter);
    (await next('release'))!.reply(false);
    expect(await left).toBe(false);
    const released = store.release(holder);
    (await next('release'))!.reply({ released: true, served: [['mutex', 'a', waiter.owner, 7]] });
    await released;
    expect(await next('release')).not.toBe(undefined);
    await store.close();
  });

  it('sends its request again if the reply that serves it is lost', async () => {
    const { store, request, next } = openStore();
    const events: WaiterEvent[] = [];
    const queued = store.acquire(request('2'), { notify: (event) => events.push(event) });
    (await next('acquire'))!.reply(BUSY);
    await queued;
    const released = store.release(request('1'));
    (await next('release'))!.fail(new Error('the connection was cut'));
    await expect(released).rejects.toThrow('cut');
    expect(events).toEqual([{ type: 'retry' }]);
    await store.close();
  });
});

describe('a server that does not reply', () => {
  it('fails requests in time, sent or not, and releases a lock that a late reply grants', async () => {
    const { clock, store, request, next, sent } = openStore({ maxQueries: 1 });
    const outcomes = ['1', '2', '3'].map((id) =>
      (store.acquire(request(id)) as Promise<unknown>).catch(String),
    );
    await elapse(clock, 2100);
    expect(await Promise.all(outcomes)).toEqual(
      Array.from({ length: 3 }, () => 'Error: no answer within 2000 ms'),
    );
    expect(sent).toHaveLength(1);
    (await next('acquire'))!.reply(7);
    expect(await next('release')).not.toBe(undefined);
    await store.close();
    expect(clock.pendingTimers).toBe(0);
  });

  it('but replies to other requests fails none that waits for its turn', async () => {
    const { clock, store, request, next } = openStore({ maxQueries: 1 });
    const outcomes = ['1', '2', '3'].map((id) => store.acquire(request(id)));
    for (let turn = 1; turn <= 3; turn++) {
      await elapse(clock, 1500);
      (await next('acquire'))!.reply(turn);
    }
    expect(await Promise.all(outcomes)).toMatchObject([{ fence: 1 }, { fence: 2 }, { fence: 3 }]);
    await store.close();
  });

  it('sends renewals before other requests', async () => {
    const { store, request, sent, next } = openStore({ maxQueries: 1 });
    const first = store.acquire(request('1'));
    const second = store.acquire(request('2'));
    const extended = store.extend(request('3'));
    (await next('acquire'))!.reply(1);
    await first;
    await settle();
    expect(sent.map(({ text }) => /\.(\w+)\(/.exec(text)?.[1])).toEqual(['extend']);
    (await next('extend'))!.reply(true);
    expect(await extended).toBe(true);
    (await next('acquire'))!.reply(2);
    await second;
    await store.close();
  });
});
