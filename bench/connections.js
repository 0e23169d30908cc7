// Latency of 50 busy clients alone, and again beside 10,000 idle connections and 1,000 that ask for
// much and do not read. The figure is the ratio of the 99th percentiles.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { openClient, printTable, request, residentBytes, startHoldfast } from './measure.js';

const IDLE = Number(process.env.HOLDFAST_IDLE ?? 10_000);
const SLOW = Number(process.env.HOLDFAST_SLOW ?? 1_000);
const BUSY = 50;
const ROUND_MS = 3_000;

if (process.argv[2] === 'crowd') await crowd(Number(process.argv[3]));
else await main();

async function main() {
  const server = await startHoldfast('--maxclients', String(IDLE + SLOW + 100));
  try {
    await percentileMs(server.port);
    const quietMs = await percentileMs(server.port);
    const before = residentBytes(server.pid);
    const child = fork(fileURLToPath(import.meta.url), ['crowd', String(server.port)]);
    await once(child, 'message');
    const crowdedMs = await percentileMs(server.port);
    const bytes = residentBytes(server.pid) - before;
    child.kill('SIGTERM');
    printTable(
      [`p99 of ${BUSY} busy clients`, 'alone, ms', 'in the crowd, ms', 'ratio', 'server grew by'],
      [
        [
          `${IDLE} idle, ${SLOW} slow readers`,
          quietMs.toFixed(2),
          crowdedMs.toFixed(2),
          (crowdedMs / quietMs).toFixed(2),
          `${Math.round(bytes / 2 ** 20)} MiB`,
        ],
      ],
    );
  } finally {
    await server.stop();
  }
}

async function percentileMs(port) {
  const clients = await Promise.all(Array.from({ length: BUSY }, () => openClient(port)));
  const endMs = performance.now() + ROUND_MS;
  const times = [];
  await Promise.all(
    clients.map(async (client, index) => {
      for (let turn = 0; performance.now() < endMs; turn++) {
        const beganMs = performance.now();
        await client.call('SET', `busy:${index}:${turn % 100}`, 'token', 'NX', 'PX', '1000');
        times.push(performance.now() - beganMs);
      }
      client.close();
    }),
  );
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)];
}

/** Runs in a process of its own, so that the busy clients' event loop is not what is measured. */
async function crowd(port) {
  const filler = await openClient(port);
  await filler.call('SET', 'big', 'x'.repeat(10_000));
  for (let at = 0; at < IDLE; at += 100) await open(port, 100);
  const slow = [];
  for (let at = 0; at < SLOW; at += 100) slow.push(...(await open(port, 100)));
  for (const socket of slow) {
    socket.pause();
    socket.write(request(['GET', 'big']).repeat(100), 'latin1');
  }
  await filler.call('PING');
  process.send('ready');
}

async function open(port, count) {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.on('error', () => {});
  return sockets;
}
