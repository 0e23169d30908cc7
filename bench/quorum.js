// Mutexes on a quorum of five redis-servers. First the uncontended case, against its floor: the fewest bare requests that
// could do it through the same clients, SET NX PX and compare-and-delete on all five, each until three have replied.
// Then six clients that contend for one lock, with messages that take 0 to 4 ms each way.
import { connect, createServer } from 'node:net';
import { Redis } from 'ioredis';
import { createLocks } from '../dist/index.js';
import { quorumStore } from '../dist/public/stores.js';
import {
  interleaveTurns,
  median,
  printTable,
  ratiosOf,
  shownCount,
  shownMark,
  shownRatio,
  sleep,
  startRedis,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 9);
const TURNS = 20;
const TURN_MS = 20;
const CLIENTS = 6;
const MAX_DELAY_MS = 4;
const CONTENTION_MS = 4000;
const COMPARE_AND_DELETE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

const servers = [];
for (let node = 0; node < 5; node++) servers.push(await startRedis());
const ports = servers.map(({ port }) => port);
await admit();
await showUncontended();
await showContended();
for (const server of servers) await server.stop();

/** New servers vote when they are older than the longest lease. */
async function admit() {
  const clients = openClients(ports);
  const locks = createLocks({ store: quorumStore(clients, { maxLease: 30 }) });
  await locks.mutex('admit').run(() => {}, { lease: 30, wait: '10s' });
  await locks.close();
  for (const client of clients) client.disconnect();
}

async function showUncontended() {
  const clients = openClients(ports);
  const locks = createLocks({ store: quorumStore(clients) });
  let count = 0;
  const sides = {
    floor: {
      acquire: async (name) => {
        const token = String(++count);
        await majority(clients.map((client) => client.set(name, token, 'PX', 30_000, 'NX')));
        return () => majority(clients.map((client) => client.compareAndDelete(name, token)));
      },
    },
    quorumStore: {
      acquire: async (name) => {
        const lease = await locks.mutex(name).acquire();
        return () => lease.release();
      },
    },
  };
  const acquires = await interleaveTurns(sides, ROUNDS, TURNS, (side) => rate(side, false));
  const cycles = await interleaveTurns(sides, ROUNDS, TURNS, (side) => rate(side, true));
  const rows = Object.keys(sides).map((name) => [
    name,
    `${(1000 / median(acquires[name])).toFixed(2)} ms`,
    shownRatio(ratiosOf(acquires[name], acquires.floor)),
    `${shownCount(median(cycles[name]))}/s`,
    shownRatio(ratiosOf(cycles[name], cycles.floor)),
  ]);
  printTable(
    ['five servers, uncontended', 'acquire', 'of the floor', 'cycles', 'of the floor'],
    rows,
  );
  await locks.close();
  for (const client of clients) client.disconnect();
}

/** Acquisitions, or whole cycles, per second of their own time. */
async function rate({ acquire }, isWhole) {
  let spentMs = 0;
  let count = 0;
  for (const startedMs = performance.now(); performance.now() - startedMs < TURN_MS; count++) {
    const beganMs = performance.now();
    const release = await acquire(`bench:${count % 100}`);
    if (!isWhole) spentMs += performance.now() - beganMs;
    await release();
    if (isWhole) spentMs += performance.now() - beganMs;
  }
  return (count * 1000) / spentMs;
}

/** Resolves when three have replied. */
function majority(replies) {
  return new Promise((resolve, reject) => {
    let count = 0;
    for (const reply of replies) reply.then(() => ++count === 3 && resolve(), reject);
  });
}

async function showContended() {
  const proxies = [];
  const waits = [];
  let isOver = false;
  const contend = async () => {
    const delayed = await Promise.all(ports.map(startProxy));
    proxies.push(...delayed);
    const clients = openClients(delayed.map((proxy) => proxy.address().port));
    const locks = createLocks({ store: quorumStore(clients), defaults: { wait: '60s' } });
    await locks.mutex('contended').run(() => {});
    while (!isOver) {
      const beganMs = performance.now();
      await locks.mutex('contended').run(() => waits.push(performance.now() - beganMs));
    }
    await locks.close();
    for (const client of clients) client.disconnect();
  };
  const ended = Promise.all(Array.from({ length: CLIENTS }, contend));
  await sleep(1000);
  waits.length = 0;
  const beganMs = performance.now();
  await sleep(CONTENTION_MS);
  const perSecond = (waits.length * 1000) / (performance.now() - beganMs);
  const longest = Math.max(...waits);
  isOver = true;
  await ended;
  for (const proxy of proxies) proxy.close();
  printTable(
    ['six clients, one lock, 0 to 4 ms each way', 'grants', 'longest wait', 'mark'],
    [
      [
        'quorumStore',
        `${shownCount(perSecond)}/s`,
        `${shownCount(longest)} ms`,
        shownMark(perSecond, { least: 100 }),
      ],
    ],
  );
}

function openClients(targets) {
  return targets.map((port) => {
    const client = new Redis(port, '127.0.0.1');
    client.defineCommand('compareAndDelete', { numberOfKeys: 1, lua: COMPARE_AND_DELETE });
    return client;
  });
}

/** Delivers each chunk after 0 to 4 ms, in order. */
function startProxy(port) {
  const pipe = (from, to) => {
    let due = 0;
    from.on('data', (chunk) => {
      due = Math.max(due, performance.now() + Math.random() * MAX_DELAY_MS);
      setTimeout(() => to.write(chunk), due - performance.now());
    });
    from.on('close', () => to.destroy());
    from.on('error', () => {});
  };
  return new Promise((resolve) => {
    const proxy = createServer({ noDelay: true }, (client) => {
      const server = connect({ port, host: '127.0.0.1', noDelay: true });
      pipe(client, server);
      pipe(server, client);
    }).listen(0, '127.0.0.1', () => resolve(proxy));
  });
}
