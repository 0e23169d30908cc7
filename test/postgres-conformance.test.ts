import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, vi } from 'vitest';
import type { LockStore, LockTarget } from '../src/lock/index.ts';
import { CONFORMANCE } from '../src/stores/conformance.ts';
import { type PostgresStoreOptions, postgresStore } from '../src/stores/index.ts';
import { conform } from './conform.ts';
import { startRealPgBouncer, startRealPostgres } from './real-postgres.ts';
import { inSlowMotion } from './slow-motion.ts';
import { withinMs } from './within.ts';

/** A lease of the suite lasts 1.6 s, and a wake-up has 80 ms to arrive, on the reference machine. */
const SLOWNESS = withinMs(4);

type Client = Parameters<typeof postgresStore>[0];

interface Way {
  readonly schema: string;
  connect(urls: Urls): { readonly client: Client; close(): Promise<unknown> };
  options(urls: Urls): PostgresStoreOptions;
}

interface Urls {
  readonly direct: string;
  /** Through PgBouncer in transaction mode. */
  readonly pooled: string;
}

function pool(config: pg.PoolConfig): ReturnType<Way['connect']> {
  const client = new pg.Pool(config);
  return { client, close: () => client.end() };
}

const WAYS: Readonly<Record<string, Way>> = {
  'pg, listen: true': {
    schema: 'of_pg',
    connect: ({ direct }) => pool({ connectionString: direct }),
    options: () => ({ listen: true }),
  },
  'postgres, listen: true': {
    schema: 'of_postgres',
    connect({ direct }) {
      const client = postgres(direct, { onnotice: () => {} });
      return { client, close: () => client.end() };
    },
    options: () => ({ listen: true }),
  },
  'pg through PgBouncer, listen: address': {
    schema: 'pooled',
    connect: ({ pooled }) => pool({ connectionString: pooled }),
    options: ({ direct }) => ({ listen: direct }),
  },
  'pg with SERIALIZABLE as the default, listen: function': {
    schema: 'serializable',
    connect: ({ direct }) =>
      pool({
        connectionString: direct,
        options: '-c default_transaction_isolation=serializable',
      }),
    options: ({ direct }) => ({ listen: () => new pg.Client(direct) }),
  },
};

/** The cases of two clients run concurrently: they mostly wait for leases that end by the server's clock. */
vi.setConfig({ maxConcurrency: 2 * (CONFORMANCE.length + 1) });

const closers: (() => Promise<unknown>)[] = [];
let urls: Urls;

beforeAll(async () => {
  const server = await startRealPostgres();
  const bouncer = await startRealPgBouncer(server.port);
  closers.unshift(bouncer.stop, server.stop);
  urls = { direct: server.url, pooled: bouncer.url };
});
afterAll(async () => {
  for (const close of closers) await close();
});

describe.concurrent.each(Object.entries(WAYS))('through %s', (_, { schema, connect, options }) => {
  let client: Client;

  beforeAll(() => {
    const opened = connect(urls);
    client = opened.client;
    closers.unshift(opened.close);
  });

  // All cases share the tables, which the first stores create at the same time.
  conform((name) => ({
    open: async () => {
      const store = postgresStore(client, {
        ...{ createTables: true, schema, requestTimeout: withinMs(2000) },
        ...options(urls),
      });
      return inSlowMotion(withPrefix(store, `${name} `), SLOWNESS);
    },
    elapse: (durationMs) => pause(durationMs * SLOWNESS),
  }));
});

/** A store that puts a prefix before the names of all locks. */
function withPrefix(store: LockStore, prefix: string): LockStore {
  const named = <Target extends LockTarget>(target: Target): Target => ({
    ...target,
    name: prefix + target.name,
  });
  return {
    ...(store.ownerPrefix !== undefined && { ownerPrefix: store.ownerPrefix }),
    acquire: (request, waiter) => store.acquire(named(request), waiter),
    acquireAll: (requests, minFence) => store.acquireAll(requests.map(named), minFence),
    adopt: (request, from) => store.adopt(named(request), named(from)),
    extend: (request) => store.extend(named(request)),
    keep: (request) => store.keep(named(request)),
    release: (request, fence) => store.release(named(request), fence),
    forceRelease: (target) => store.forceRelease(named(target)),
    inspect: (target) => store.inspect(named(target)),
    contention: (request) => store.contention(named(request)),
    onLost: (listener) => store.onLost?.(listener),
    watch: (request, onContended) => store.watch?.(named(request), onContended),
    unwatch: (request) => store.unwatch?.(named(request)),
    close: () => store.close(),
  };
}
