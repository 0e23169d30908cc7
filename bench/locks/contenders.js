// The contenders of the lock benchmarks on a server. A contender is opened with the server's port and has
// `acquire(name)`, which gives something that can be released, `isFree(name)`, which asks the server and
// not the library, and `close()`. Each has a client of its own; those of ioredis have its defaults.
import { randomUUID } from 'node:crypto';
import { createLocks, redisStore } from 'holdfast';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { Mutex, Semaphore } from 'redis-semaphore';
import Redlock from 'redlock';

export const LEASE_MS = 30_000;
const PERMITS = 3;

const COMPARE_AND_DELETE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const COMPARE_AND_PROLONG =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";

/** One holder at a time. The floor is what the textbook sends, without a library. */
export const mutexes = {
  floor: (port) => openFloor(port, {}),
  holdfast: (port) => openHoldfast(port, MUTEX),
  'holdfast on ioredis': (port) => openHoldfast(port, MUTEX, openOnIoredis),
  'holdfast on node-redis': (port) => openHoldfast(port, MUTEX, openOnNodeRedis),
  redlock: openRedlock,
  'redis-semaphore': openRedisMutex,
};

const MUTEX = {
  lockOf: (locks, name) => locks.mutex(name),
  isFree: (_locks, client, name) => isMissing(client, `lock:{${name}}`),
};

/** Locks that end with a session, beside locks that do not. */
export const sessions = {
  'holdfast without a session': (port) => openHoldfast(port, MUTEX),
  'holdfast with a session': (port) => openHoldfast(port, MUTEX, openWithSession),
};

/** ioredis can gather the commands of one turn by itself, if asked to. */
export const pipedFloor = (port) => openFloor(port, { enableAutoPipelining: true });

/** The other kinds. A lock is free when a request for all of it is granted. */
export const otherKinds = {
  'holdfast semaphore': (port) =>
    openHoldfast(port, {
      lockOf: (locks, name) => locks.semaphore(name, PERMITS),
      isFree: (locks, _client, name) =>
        couldTake(locks.semaphore(name, PERMITS, { permits: PERMITS })),
    }),
  'redis-semaphore semaphore': openRedisSemaphore,
  'holdfast read': (port) =>
    openHoldfast(port, {
      lockOf: (locks, name) => locks.readWrite(name).read,
      isFree: (locks, _client, name) => couldTake(locks.readWrite(name).write),
    }),
  'holdfast write': (port) =>
    openHoldfast(port, {
      lockOf: (locks, name) => locks.readWrite(name).write,
      isFree: (locks, _client, name) => couldTake(locks.readWrite(name).read),
    }),
};

/** They extend a lock that is held: `hold(name)`, then `renew(name)` any number of times. */
export const renewers = {
  'bare EVALSHA compare-and-pexpire': openBareRenewer,
  'holdfast lease.extend()': openLeaseRenewer,
};

async function openFloor(port, options) {
  const client = new Redis(port, options);
  const sha = await client.script('LOAD', COMPARE_AND_DELETE);
  const keyOf = (name) => `floor:${name}`;
  return {
    async acquire(name) {
      const key = keyOf(name);
      const token = randomUUID();
      const reply = await client.set(key, token, 'PX', LEASE_MS, 'NX');
      if (reply !== 'OK') throw new Error(`${key} is taken`);
      return { release: () => client.evalsha(sha, 1, key, token) };
    },
    isFree: (name) => isMissing(client, keyOf(name)),
    close: async () => client.disconnect(),
  };
}

/** The form that the README shows. */
function openByAddress(port) {
  const locks = createLocks(`redis://127.0.0.1:${port}`);
  return { locks, disconnect: () => {} };
}

function openWithSession(port) {
  const locks = createLocks(`redis://127.0.0.1:${port}`, { session: true });
  return { locks, disconnect: () => {} };
}

async function openOnNodeRedis(port) {
  const client = createClient({ socket: { host: '127.0.0.1', port } });
  await client.connect();
  return {
    locks: createLocks({ store: redisStore(client) }),
    disconnect: () => client.destroy(),
  };
}

function openOnIoredis(port) {
  const client = new Redis(port);
  return {
    locks: createLocks({ store: redisStore(client) }),
    disconnect: () => client.disconnect(),
  };
}

async function openHoldfast(port, { lockOf, isFree }, open = openByAddress) {
  const { locks, disconnect } = await open(port);
  // Another program's eyes: what this process believes of its own locks proves nothing.
  const otherClient = new Redis(port);
  const otherLocks = createLocks({ store: redisStore(otherClient) });
  return {
    acquire: (name) => lockOf(locks, name).acquire(),
    isFree: (name) => isFree(otherLocks, otherClient, name),
    async close() {
      await Promise.all([locks.close(), otherLocks.close()]);
      disconnect();
      otherClient.disconnect();
    },
  };
}

async function openRedlock(port) {
  const client = new Redis(port);
  const redlock = new Redlock([client], { retryCount: -1 });
  return {
    acquire: (name) => redlock.acquire([name], LEASE_MS),
    isFree: (name) => isMissing(client, name),
    close: async () => client.disconnect(),
  };
}

async function openRedisMutex(port) {
  const client = new Redis(port);
  return {
    async acquire(name) {
      const mutex = new Mutex(client, name, { lockTimeout: LEASE_MS });
      await mutex.acquire();
      return mutex;
    },
    isFree: (name) => isMissing(client, `mutex:${name}`),
    close: async () => client.disconnect(),
  };
}

async function openRedisSemaphore(port) {
  const client = new Redis(port);
  return {
    async acquire(name) {
      const semaphore = new Semaphore(client, name, PERMITS, { lockTimeout: LEASE_MS });
      await semaphore.acquire();
      return semaphore;
    },
    isFree: (name) => isMissing(client, `semaphore:${name}`),
    close: async () => client.disconnect(),
  };
}

async function openBareRenewer(port) {
  const client = new Redis(port);
  const sha = await client.script('LOAD', COMPARE_AND_PROLONG);
  const token = randomUUID();
  return {
    hold: (name) => client.set(`renewed:${name}`, token, 'PX', LEASE_MS, 'NX'),
    async renew(name) {
      const reply = await client.evalsha(sha, 1, `renewed:${name}`, token, LEASE_MS);
      if (reply !== 1) throw new Error(`${name} was lost`);
    },
    close: async () => client.disconnect(),
  };
}

async function openLeaseRenewer(port) {
  const client = new Redis(port);
  const locks = createLocks({ store: redisStore(client) });
  const leases = new Map();
  return {
    async hold(name) {
      leases.set(name, await locks.mutex(`renewed:${name}`).acquire());
    },
    renew: (name) => leases.get(name).extend(),
    async close() {
      await locks.close();
      client.disconnect();
    },
  };
}

async function isMissing(client, key) {
  return (await client.exists(key)) === 0;
}

async function couldTake(lock) {
  const lease = await lock.tryAcquire();
  await lease?.release();
  return lease !== null;
}
