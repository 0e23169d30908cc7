// The lock of memcached beside that of Redis: `add` and `delete` on memcached, SETNX and DEL, and SET NX EX
// and DEL, on redis-server and on `holdfast serve`. Raw sockets, one request at a time on each
// connection, rounds interleaved. Then when a lock of one second really ends on each of them. Then the store on memcached
// against its floor, an add and a delete through its own client, and its hand-over between two clients.
// Needs memcached on the PATH (Debian: memcached).
import { once } from 'node:events';
import { connect } from 'node:net';
import {
  interleaveTurns,
  median,
  printTable,
  ratiosOf,
  request,
  shownCount,
  shownRatio,
  sleep,
  startHoldfast,
  startMemcached,
  startRedis,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 9);
const TURNS = 9;
const CONNECTIONS = 50;
const TURN_MS = 100;
const EXPIRIES = Number(process.env.HOLDFAST_EXPIRIES ?? 40);

/** Each kind of lock: the two requests of a cycle on a key, and the replies to them. */
const KINDS = {
  add: {
    acquire: (key) => `add ${key} 0 60 5\r\ntoken\r\n`,
    release: (key) => `delete ${key}\r\n`,
    replies: ['STORED\r\n', 'DELETED\r\n'],
  },
  setnx: {
    acquire: (key) => request(['SETNX', key, 'token']),
    release: (key) => request(['DEL', key]),
    replies: [':1\r\n', ':1\r\n'],
  },
  setNxEx: {
    acquire: (key) => request(['SET', key, 'token', 'NX', 'EX', '60']),
    release: (key) => request(['DEL', key]),
    replies: ['+OK\r\n', ':1\r\n'],
  },
};

/** A second of lease on each server, with the replies that tell whether the lock is still there. */
const SECONDS = {
  memcached: {
    acquire: (key) => `add ${key} 0 1 5\r\ntoken\r\n`,
    read: (key) => `get ${key}\r\n`,
    isGone: (reply) => reply === 'END\r\n',
  },
  'redis-server': redisSecond(),
  'holdfast serve': redisSecond(),
};

const servers = {
  memcached: await startMemcached(),
  'redis-server': await startRedis(),
  'holdfast serve': await startHoldfast(),
};
const SIDES = {
  'memcached: add, delete': { server: 'memcached', kind: KINDS.add },
  'redis-server: SETNX, DEL': { server: 'redis-server', kind: KINDS.setnx },
  'redis-server: SET NX EX, DEL': { server: 'redis-server', kind: KINDS.setNxEx },
  'holdfast serve: SETNX, DEL': { server: 'holdfast serve', kind: KINDS.setnx },
  'holdfast serve: SET NX EX, DEL': { server: 'holdfast serve', kind: KINDS.setNxEx },
};
try {
  await printRates();
  await printLeases();
  await printStore();
} finally {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
}

async function printRates() {
  const connections = {};
  for (const [name, { port }] of Object.entries(servers)) {
    connections[name] = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(port)));
  }
  const figures = await interleaveTurns(SIDES, ROUNDS, TURNS, ({ server, kind }) =>
    cyclesPerSecond(connections[server], kind),
  );
  for (const connection of Object.values(connections).flat()) connection.close();
  const others = figures['memcached: add, delete'];
  printTable(
    [`a lock taken and released, ${CONNECTIONS} connections`, 'cycles a second', 'times memcached'],
    Object.entries(figures).map(([name, rates]) => [
      name,
      shownCount(median(rates)),
      shownRatio(ratiosOf(rates, others)),
    ]),
  );
}

/** Each connection takes and releases a lock of its own, again and again. */
async function cyclesPerSecond(connections, { acquire, release, replies }) {
  const beganMs = performance.now();
  const endMs = beganMs + TURN_MS;
  const counts = await Promise.all(
    connections.map(async (connection, at) => {
      const requests = [acquire(`lock:${at}`), release(`lock:${at}`)];
      let count = 0;
      for (; performance.now() < endMs; count++) {
        for (const [step, text] of requests.entries()) {
          const reply = await connection.ask(text);
          if (reply !== replies[step]) throw new Error(`${text.trim()} gave ${reply.trim()}`);
        }
      }
      return count;
    }),
  );
  const cycles = counts.reduce((sum, count) => sum + count);
  return (cycles * 1000) / (performance.now() - beganMs);
}

/** Locks of one second, begun at moments spread over a second: how long they stay. */
async function printLeases() {
  const rows = [];
  for (const [name, lease] of Object.entries(SECONDS)) {
    const { port } = servers[name];
    const lives = await Promise.all(
      Array.from({ length: EXPIRIES }, async (_, at) => {
        await sleep((at * 1000) / EXPIRIES);
        return lifeMs(port, lease, `lease:${at}`);
      }),
    );
    rows.push([
      name,
      ...[Math.min(...lives), median(lives), Math.max(...lives)].map((ms) => ms.toFixed(0)),
    ]);
  }
  printTable(['a lock of one second stays, ms', 'least', 'median', 'most'], rows);
}

async function lifeMs(port, { acquire, read, isGone }, key) {
  const connection = await open(port);
  const beganMs = performance.now();
  await connection.ask(acquire(key));
  while (!isGone(await connection.ask(read(key)))) await sleep(5);
  connection.close();
  return performance.now() - beganMs;
}

/** Mutexes through `memcachedStore`, and the two requests that could make the same cycle, through the same client. */
async function printStore() {
  const { memcachedStore } = await import('../build/stores/index.js');
  const { MetaClient } = await import('../build/stores/memcached/meta-client.js');
  const { createLocks } = await import('../build/index.js');
  const { systemClock: clock } = await import('../build/clock/index.js');
  process.removeAllListeners('warning');
  const { port } = servers.memcached;
  const address = { host: '127.0.0.1', port, label: 'memcached' };
  const client = new MetaClient({ address, clock, requestTimeoutMs: 5000 });
  const [locks, others] = [1, 2].map(() =>
    createLocks({ store: memcachedStore(`127.0.0.1:${port}`) }),
  );
  const cycles = {
    floor: async (name) => {
      await client.request(`add ${name} 0 60 5\r\ntoken\r\n`);
      await client.request(`md ${name}\r\n`);
    },
    store: async (name) => {
      const lease = await locks.mutex(name).acquire();
      await lease.release();
    },
  };
  const rows = [];
  for (const workers of [1, 50]) {
    const figures = await interleaveTurns(cycles, ROUNDS, TURNS, (cycle) => rateOf(cycle, workers));
    rows.push([
      `${workers}`,
      shownCount(median(figures.store)),
      shownRatio(ratiosOf(figures.store, figures.floor)),
    ]);
  }
  printTable(['workers on one connection', 'cycles a second', 'of an add and a delete'], rows);
  const waits = [];
  for (let turn = 0; turn < EXPIRIES; turn++) waits.push(await handOverMs(locks, others));
  const shown = [Math.min(...waits), median(waits), Math.max(...waits)].map((ms) => ms.toFixed(0));
  printTable(
    ['a hand-over between two clients, ms', 'least', 'median', 'most'],
    [['store', ...shown]],
  );
  client.close();
  await Promise.all([locks.close(), others.close()]);
}

async function rateOf(cycle, workers) {
  const beganMs = performance.now();
  const endMs = beganMs + TURN_MS;
  const counts = await Promise.all(
    Array.from({ length: workers }, async (_, at) => {
      let count = 0;
      for (; performance.now() < endMs; count++) await cycle(`cycle:${at}`);
      return count;
    }),
  );
  return (counts.reduce((sum, count) => sum + count) * 1000) / (performance.now() - beganMs);
}

/** From the release of one client until another one that waits has the lock. */
async function handOverMs(one, other) {
  const lease = await one.mutex('hand-over').acquire();
  const waiting = other.mutex('hand-over').acquire();
  await sleep(100 + 50 * Math.random());
  const beganMs = performance.now();
  void lease.release();
  const next = await waiting;
  const tookMs = performance.now() - beganMs;
  await next.release();
  return tookMs;
}

function redisSecond() {
  return {
    acquire: (key) => request(['SET', key, 'token', 'NX', 'EX', '1']),
    read: (key) => request(['GET', key]),
    isGone: (reply) => reply === '$-1\r\n',
  };
}

/** One request, one reply, which comes in one piece because it is short. */
async function open(port) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  let receive;
  socket.setEncoding('latin1').on('data', (text) => receive(text));
  return {
    ask(text) {
      socket.write(text, 'latin1');
      return new Promise((resolve) => {
        receive = resolve;
      });
    },
    close: () => socket.destroy(),
  };
}
