import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  LockArgumentError,
  LockLostError,
  type LockRequest,
  type LockStore,
  Locks,
  LockUnavailableError,
} from '../src/lock/index.ts';
import {
  fenced,
  type PostgresStoreOptions,
  postgresStore,
  withTransactionLock,
} from '../src/stores/index.ts';
import { postgresUrlStore } from '../src/stores/postgres/postgres-url.ts';
import { schemaSql } from '../src/stores/postgres/schema.ts';
import { startRealPgBouncer, startRealPostgres } from './real-postgres.ts';
import { withinMs } from './within.ts';

const closers: (() => Promise<unknown>)[] = [];
let urls: { readonly direct: string; readonly pooled: string };
let pool: pg.Pool;

beforeAll(async () => {
  const server = await startRealPostgres();
  const bouncer = await startRealPgBouncer(server.port);
  urls = { direct: server.url, pooled: bouncer.url };
  pool = new pg.Pool({ connectionString: server.url });
  closers.push(() => pool.end(), bouncer.stop, server.stop);
  await pool.query(schemaSql('holdfast'));
});
afterAll(async () => {
  for (const close of closers) await close();
});

/** A new name of a lock. */
const newName = (): string => randomUUID();

function open(options: PostgresStoreOptions = { listen: true }, client = pool): Locks {
  return new Locks({ store: postgresStore(client, options) });
}

/** A request of a store without the library: its lease is not renewed. */
function requestOf(
  { ownerPrefix = '' }: LockStore,
  name: string,
  leaseMs: number,
  at = 1,
): LockRequest {
  const info = { host: 'h', pid: 1, label: '' };
  return { kind: 'mutex', name, slots: 1, permits: 1, leaseMs, owner: `${ownerPrefix}${at}`, info };
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function waiterCount(locks: Locks, name: string): Promise<number> {
  return (await locks.mutex(name).inspect()).waiters.length;
}

describe('the tables', () => {
  it('are created once by stores that start at the same time', async () => {
    const options = { schema: 'together', createTables: true };
    const all = [1, 2, 3, 4, 5].map(() => open(options));
    const leases = await Promise.all(all.map((locks, at) => locks.mutex(`${at}`).acquire()));
    expect(leases.map(({ isHeld }) => isHeld)).toEqual([true, true, true, true, true]);
    await Promise.all(all.map((locks) => locks.close()));
  });

  it('that are missing give an error that says how to create them', async () => {
    await using locks = open({ schema: 'missing' });
    const failing = locks.mutex('a').acquire();
    await expect(failing).rejects.toThrow(LockUnavailableError);
    await expect(failing).rejects.toThrow(/createTables: true.*sql\/holdfast\.sql/s);
  });

  it('of another version give an error that names both', async () => {
    await pool.query(`${schemaSql('"other"')} update other.meta set version = 99`);
    await using locks = open({ schema: 'other', createTables: true });
    await expect(locks.mutex('a').acquire()).rejects.toThrow(/have version 99.*needs 1/s);
  });

  it('that the user may not use give an error that says what to grant', async () => {
    await pool.query('create role guest login');
    await using locks = new Locks({
      store: postgresUrlStore(urls.direct.replace('holdfast@', 'guest@'), { createTables: false }),
    });
    await expect(locks.mutex('a').acquire()).rejects.toThrow(/Grant the user USAGE/);
  });
});

describe('arguments', () => {
  it.each([
    ['no client', () => postgresStore({} as pg.Pool), /new Pool\(\) or new Client\(\)/],
    ['an unknown option', () => open({ lisen: true } as object), /does not know 'lisen'/],
    ['a wrong schema', () => open({ schema: 'a"b' }), /schema must be a name/],
    ['a schema of PostgreSQL', () => open({ schema: 'pg_a' }), /schema must be a name/],
    ['a wrong timeout', () => open({ requestTimeout: 0 }), /requestTimeout/],
    ['a wrong createTables', () => open({ createTables: 1 as never }), /createTables must be/],
    ['a wrong listen', () => open({ listen: 'localhost' }), /listen must be/],
    [
      'listen: true with a Client',
      () => postgresStore(new pg.Client(urls.direct), { listen: true }),
      /needs a Pool/,
    ],
    ['another address', () => postgresUrlStore('redis://x'), /address must be postgres:/],
  ])('with %s give a LockArgumentError', (_, call, message) => {
    expect(call).toThrow(LockArgumentError);
    expect(call).toThrow(message);
  });
});

describe('a waiter', () => {
  it('polls without listen, by one query of its process, with one warning', async () => {
    const warned = once(process, 'warning');
    await using holders = open();
    await using locks = open({});
    const name = newName();
    const lease = await holders.mutex(name).acquire();
    const waiting = [1, 2, 3].map(() => locks.mutex(name).acquire());
    expect((await warned)[0]).toMatchObject({ code: 'HOLDFAST_POSTGRES_POLLS' });
    await until(async () => (await waiterCount(locks, name)) === 3);
    await lease.release();
    await Promise.all(waiting.map(async (each) => (await each).release()));
  });

  it('polls, with one warning, if the connection of listen goes through a pooler', async () => {
    const warned = once(process, 'warning');
    await using holders = open();
    await using locks = open({ listen: urls.pooled, requestTimeout: 300 });
    const name = newName();
    const lease = await holders.mutex(name).acquire();
    const waiting = locks.mutex(name).acquire();
    const [warning] = await warned;
    expect(warning.message).toMatch(/receives no notifications/);
    await lease.release();
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });

  it('sends no query while it waits: one refresh serves the 1,000 of a process', async () => {
    await using holders = open();
    const counted = new pg.Pool({ connectionString: urls.direct });
    let queryCount = 0;
    counted.on('acquire', () => queryCount++);
    const locks = open({ listen: true }, counted);
    const name = newName();
    const lease = await holders.mutex(name).acquire();
    const waiting = Array.from({ length: 1000 }, () =>
      locks
        .mutex(name)
        .acquire({ wait: '60s' })
        .catch(() => undefined),
    );
    await until(async () => (await waiterCount(holders, name)) === 1000);
    // The connection for messages may still be opening; until then the refreshes are more frequent.
    await new Promise((resolve) => setTimeout(resolve, 500));
    queryCount = 0;
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(queryCount).toBeGreaterThan(0);
    expect(queryCount).toBeLessThan(10);
    await lease.release();
    expect((await Promise.race(waiting))?.isHeld).toBe(true);
    await locks.close();
    await Promise.all(waiting);
    await counted.end();
  });

  it('of another process is notified by the release, not by the next refresh', async () => {
    const programs = [open(), open()];
    const name = newName();
    const tookMs: number[] = [];
    let lease = await programs[1]!.mutex(name).acquire();
    for (let turn = 0; turn < 6; turn++) {
      const waiting = programs[turn % 2]!.mutex(name).acquire();
      await until(async () => (await waiterCount(programs[0]!, name)) === 1);
      const beganMs = performance.now();
      await lease.release();
      lease = await waiting;
      tookMs.push(performance.now() - beganMs);
    }
    // The first ones may come before the connections for messages are open. A refresh would take a second.
    const longestMs = Math.max(...tookMs.slice(2));
    expect(longestMs).toBeLessThan(withinMs(250, 500));
    await Promise.all(programs.map((locks) => locks.close()));
  });

  it('is served when the lease of a dead holder ends', async () => {
    await using locks = open();
    const name = newName();
    const dead = postgresStore(pool);
    await dead.acquire(requestOf(dead, name, 700));
    await dead.close();
    const lease = await locks.mutex(name).acquire({ wait: '5s' });
    expect(lease.isHeld).toBe(true);
  });

  it('of a dead client is passed over and leaves the queue', async () => {
    await using holders = open();
    const dead = open();
    await using locks = open();
    const name = newName();
    const lease = await holders.mutex(name).acquire();
    const lost = dead
      .mutex(name)
      .acquire({ wait: '60s' })
      .catch(() => undefined);
    await until(async () => (await waiterCount(holders, name)) === 1);
    const [{ client } = {}] = await rows(`select client from holdfast.wait where name = '${name}'`);
    const waiting = locks.mutex(name).acquire();
    await until(async () => (await waiterCount(holders, name)) === 2);
    // As if it had sent nothing for a minute: a trigger keeps it so.
    await pool.query(`create function dead() returns trigger language plpgsql as
      $$ begin new.alive = now() - interval '1 minute'; return new; end $$`);
    await pool.query(`create trigger dead before update on holdfast.client for each row
      when (new.client = '${client}') execute function dead()`);
    await pool.query(`update holdfast.client set alive = alive where client = '${client}'`);
    expect(await waiterCount(holders, name)).toBe(1);
    const beganMs = performance.now();
    await lease.release();
    expect((await waiting).isHeld).toBe(true);
    // Without a reservation for the dead one.
    expect(performance.now() - beganMs).toBeLessThan(withinMs(1000, 2900));
    expect(await rows(`select from holdfast.wait where client = '${client}'`)).toEqual([]);
    await pool.query('drop trigger dead on holdfast.client');
    await dead.close();
    await lost;
  });

  it('that does not confirm its reservation loses its places, and the next one is served', async () => {
    await using holders = open();
    await using locks = open();
    const name = newName();
    const silent = postgresStore(pool, { listen: false });
    const lease = await holders.mutex(name).acquire();
    for (const at of [1, 2])
      await silent.acquire(requestOf(silent, name, 30_000, at), { notify() {} });
    // From now on it sends nothing.
    await silent.close();
    const waiting = locks.mutex(name).acquire({ wait: '30s' });
    await until(async () => (await waiterCount(holders, name)) === 3);
    const beganMs = performance.now();
    await lease.release();
    expect((await waiting).isHeld).toBe(true);
    // One reservation, not two.
    expect(performance.now() - beganMs).toBeGreaterThan(2900);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(4500, 5900));
  });

  it('is told by the thief in another process that it lost the lock', async () => {
    await using holders = open();
    await using thieves = open();
    const name = newName();
    const lease = await holders.mutex(name).acquire();
    const contended = once(lease.contended, 'abort');
    const lost = once(lease.signal, 'abort');
    const [{ client } = {}] = await rows(`select client from holdfast.hold where name = '${name}'`);
    const listens = `select from pg_stat_activity where query = 'listen "holdfast_${client}"'`;
    await until(async () => (await rows(`${listens} and state = 'idle'`)).length === 1);
    const waiting = thieves.mutex(name).acquire({ wait: '20s' });
    await contended;
    const reason = 'x'.repeat(1000);
    const stolen = await thieves.mutex(name).acquire({ steal: true, reason: `${reason}\0` });
    await lost;
    expect(lease.signal.reason).toBeInstanceOf(LockLostError);
    expect(String(lease.signal.reason.cause)).toContain(reason);
    await stolen.release();
    await waiting;
  });
});

describe('time', () => {
  it('is that after the wait for the row, not that of the start of the request', async () => {
    await using locks = open();
    const name = newName();
    await (await locks.mutex(name).acquire()).release();
    const blocker = await pool.connect();
    await blocker.query('begin');
    await blocker.query('select from holdfast.lock where name = $1 for update', [name]);
    const store = postgresStore(pool);
    const request = requestOf(store, name, 1000);
    const acquiring = store.acquire(request);
    await until(async () => (await blockedCount()) === 1);
    await new Promise((resolve) => setTimeout(resolve, 700));
    await blocker.query('commit');
    blocker.release();
    expect(await acquiring).toMatchObject({ type: 'granted' });
    const { holders } = await store.inspect(request);
    expect(holders[0]!.leftMs).toBeGreaterThan(500);
    await store.close();
  });

  it('that was set back gives larger fences all the same, also after the row was removed', async () => {
    await using locks = open();
    const name = newName();
    const first = await locks.mutex(name).acquire();
    await first.release();
    // As if the clock had been a year ahead.
    const ahead = first.fence + 365 * 86_400e6;
    await pool.query(`update holdfast.lock set fence = ${ahead} where name = '${name}'`);
    const second = await locks.mutex(name).acquire();
    expect(second.fence).toBeGreaterThan(ahead);
    await second.release();
    await pool.query(`update holdfast.lock set touched = now() - interval '2 days'
      where name = '${name}'`);
    await pool.query('select holdfast.sweep()');
    expect(await rows(`select from holdfast.lock where name = '${name}'`)).toEqual([]);
    const third = await locks.mutex(name).acquire();
    expect(third.fence).toBeGreaterThan(second.fence);
    await third.release();
    await pool.query('update holdfast.meta set floor = 0');
  });
});

describe('sweep', () => {
  it('removes no lock that is held, waited for, or was used today', async () => {
    await using locks = open();
    await using others = open();
    const [held, waited, used] = [newName(), newName(), newName()];
    await locks.mutex(held).acquire();
    await locks.mutex(waited).acquire();
    const waiting = others
      .mutex(waited)
      .acquire({ wait: '60s' })
      .catch(() => undefined);
    await until(async () => (await waiterCount(locks, waited)) === 1);
    await (await locks.mutex(used).acquire()).release();
    await pool.query(`update holdfast.lock set touched = now() - interval '2 days'
      where name in ('${held}', '${waited}')`);
    await pool.query('select holdfast.sweep()');
    const names = `name in ('${held}', '${waited}', '${used}')`;
    expect(await rows(`select from holdfast.lock where ${names}`)).toHaveLength(3);
    await others.close();
    await waiting;
  });
});

describe('list', () => {
  it('returns the locks in use with their holders and waiters, in order, up to the maximum', async () => {
    const schema = 'listed';
    await using locks = open({ listen: true, schema, createTables: true });
    await using others = open({ listen: true, schema });
    await locks.mutex('b\\0\0').acquire({ label: 'first' });
    await locks.semaphore('a', 3, { permits: 2 }).acquire();
    await (await locks.mutex('free').acquire()).release();
    const waiting = others
      .mutex('b\\0\0')
      .acquire({ label: 'second' })
      .catch(() => undefined);
    await until(async () => (await waiterCount(locks, 'b\\0\0')) === 1);
    const store = postgresStore(pool, { schema });
    const { locks: listed, isCut } = await store.list!({ maxLocks: 10, maxParties: 10 });
    expect(isCut).toBe(false);
    expect(listed).toMatchObject([
      { kind: 'semaphore', name: 'a', slots: 3, holderCount: 1, holders: [{ permits: 2 }] },
      {
        ...{ kind: 'mutex', name: 'b\\0\0', holderCount: 1, waiterCount: 1 },
        ...{ holders: [{ label: 'first' }], waiters: [{ label: 'second' }] },
      },
    ]);
    const cut = await store.list!({ maxLocks: 1, maxParties: 0 });
    expect(cut).toMatchObject({ isCut: true, locks: [{ name: 'a', holderCount: 1, holders: [] }] });
    const one = await store.list!({ name: 'b\\0\0', maxLocks: 1, maxParties: 1 });
    expect(one).toMatchObject({ isCut: false, locks: [{ waiterCount: 1 }] });
    await others.close();
    await waiting;
    await store.close();
  });
});

describe('an address', () => {
  it('opens a store with a pool of its own, which closes it', async () => {
    await using locks = new Locks({ store: postgresUrlStore(urls.direct, { schema: 'by_url' }) });
    await using others = new Locks({ store: postgresUrlStore(urls.direct, { schema: 'by_url' }) });
    const lease = await locks.mutex('a').acquire();
    const waiting = others.mutex('a').acquire();
    await until(async () => (await waiterCount(locks, 'a')) === 1);
    await lease.release();
    expect((await waiting).isHeld).toBe(true);
    expect(await lease.release()).toBe('released');
  });

  it('of no server gives a LockUnavailableError', async () => {
    await using locks = new Locks({ store: postgresUrlStore('postgres://127.0.0.1:1/x') });
    await expect(locks.mutex('a').acquire({ wait: 100 })).rejects.toThrow(LockUnavailableError);
  });

  it('with a wrong database gives an error at once', async () => {
    await using locks = new Locks({
      store: postgresUrlStore(urls.direct.replace(/postgres$/, 'none')),
    });
    await expect(locks.mutex('a').acquire({ wait: '1h' })).rejects.toThrow(/Create the database/);
  });
});

describe.each(['pg', 'postgres'] as const)('with a transaction of %s', (driver) => {
  const sql = (): postgres.Sql => postgres(urls.direct, { onnotice: () => {} });

  /** Runs a transaction with this driver. */
  async function begin(
    work: (
      tx: Parameters<typeof fenced>[0],
      run: (text: string) => Promise<unknown>,
    ) => Promise<void>,
  ): Promise<void> {
    if (driver === 'postgres') {
      const client = sql();
      await client
        .begin((tx) => work(tx, async (text) => tx.unsafe(text)))
        .finally(() => client.end());
      return;
    }
    const client = await pool.connect();
    try {
      await client.query('begin');
      await work(client, (text) => client.query(text));
      await client.query('commit');
    } catch (error) {
      await client.query('rollback');
      throw error;
    } finally {
      client.release();
    }
  }

  it('withTransactionLock lets one transaction in at a time, until its commit', async () => {
    const name = newName();
    const order: string[] = [];
    let inside = 0;
    const work = (id: number): Promise<void> =>
      begin(async (tx, run) => {
        await withTransactionLock(tx, name);
        order.push(`${id} in, ${++inside}`);
        await run('select pg_sleep(0.05)');
        inside--;
      });
    await Promise.all([1, 2, 3].map(work));
    expect(order.map((text) => text.slice(-1))).toEqual(['1', '1', '1']);
  });

  it('fenced refuses a fence smaller than one that was seen, and the transaction cannot commit', async () => {
    const name = newName();
    await pool.query(`create table if not exists written (name text)`);
    await begin(async (tx) => fenced(tx, { name, fence: 7 }));
    await begin(async (tx) => fenced(tx, { name, fence: 7 }));
    let error: unknown;
    const stale = begin(async (tx, run) => {
      await run(`insert into written values ('${name}')`);
      // The caller ignores the error.
      error = await fenced(tx, { name, fence: 6 }).catch((each: unknown) => each);
    });
    // COMMIT of an aborted transaction is a rollback; pg reports no error for it.
    await stale.catch(() => {});
    expect(error).toBeInstanceOf(LockLostError);
    expect(String((error as Error).cause)).toContain('fence 6 of lock');
    expect(await rows(`select from written where name = '${name}'`)).toEqual([]);
    await begin(async (tx) => fenced(tx, { name, fence: 8 }));
  });

  it('fenced makes a later holder wait until the transaction of a former one has ended', async () => {
    const name = newName();
    const order: string[] = [];
    let later = Promise.resolve();
    await begin(async (tx, run) => {
      await fenced(tx, { name, fence: 1 });
      later = begin(async (other) => {
        await fenced(other, { name, fence: 2 });
        order.push('later');
      });
      await run('select pg_sleep(0.1)');
      order.push('former');
    });
    await later;
    expect(order).toEqual(['former', 'later']);
  });

  it('fenced takes a lease, and throws if it is not held any more', async () => {
    await using locks = open();
    const lease = await locks.mutex(newName()).acquire();
    await begin(async (tx) => fenced(tx, lease));
    await lease.release();
    await expect(begin(async (tx) => fenced(tx, lease))).rejects.toMatchObject({
      code: 'not-held',
    });
  });
});

describe('outside of a transaction', () => {
  const lease = { name: 'outside', fence: 1 };

  it('a pool gives a LockArgumentError', async () => {
    await expect(fenced(pool, lease)).rejects.toThrow(LockArgumentError);
    await expect(withTransactionLock(pool, 'a')).rejects.toThrow(/needs a transaction/);
  });

  it('a client, and the sql function of postgres, give a LockArgumentError', async () => {
    const client = await pool.connect();
    const sql = postgres(urls.direct);
    await expect(fenced(client, lease)).rejects.toThrow(LockArgumentError);
    await expect(withTransactionLock(client, 'a')).rejects.toThrow(/needs a transaction/);
    await expect(fenced(sql, lease)).rejects.toThrow(LockArgumentError);
    client.release();
    await sql.end();
  });

  it('a lease without a fence gives a LockArgumentError', async () => {
    const client = await pool.connect();
    await expect(fenced(client, { name: 'a' } as never)).rejects.toThrow(/needs a lease/);
    client.release();
  });
});

async function rows(text: string): Promise<Record<string, string>[]> {
  return (await pool.query(text)).rows;
}

/** Requests that wait for the row of a lock. */
async function blockedCount(): Promise<number> {
  const found = await rows(
    `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%acquire%'`,
  );
  return found.length;
}
