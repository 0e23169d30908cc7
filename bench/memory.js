// Resident memory for a million held locks (key of 32 bytes, token of 36, with a TTL), and how long
// the longest PING takes while a million keys end in the same second. Both sides get the same commands.
import {
  longestPing,
  openClient,
  printTable,
  residentBytes,
  startHoldfast,
  startRedis,
} from './measure.js';

const LOCKS = Number(process.env.HOLDFAST_LOCKS ?? 1_000_000);
const BATCH = 1000;

const rows = [];
const figures = {};
for (const [name, start] of Object.entries({ holdfast: startHoldfast, redis: startRedis })) {
  const server = await start();
  try {
    figures[name] = await measure(server);
  } finally {
    await server.stop();
  }
}
const { holdfast, redis } = figures;
rows.push(['bytes a lock', holdfast.bytes, redis.bytes, (holdfast.bytes / redis.bytes).toFixed(2)]);
rows.push(['longest PING while all end, ms', holdfast.pingMs, redis.pingMs, '']);
printTable([`${LOCKS} locks`, 'holdfast', 'redis-server 7', 'ratio'], rows);

async function measure({ port, pid }) {
  const client = await openClient(port);
  const before = residentBytes(pid);
  await fill(client, 3_600_000);
  const bytes = Math.round((residentBytes(pid) - before) / LOCKS);
  await client.call('FLUSHALL');
  const untilMs = performance.now() + Math.max(20_000, LOCKS / 50);
  await fill(client, untilMs);
  const pingMs = await longestPing(port, () => untilEmpty(client, untilMs));
  client.close();
  return { bytes, pingMs: pingMs.toFixed(1) };
}

/** A lease of so long, or until a moment of this process's clock, which is then the same for all. */
async function fill(client, leaseOrEnd) {
  const endsTogether = leaseOrEnd < 3_600_000;
  for (let first = 0; first < LOCKS; first += BATCH) {
    const leaseMs = endsTogether ? Math.round(leaseOrEnd - performance.now()) : leaseOrEnd;
    const calls = [];
    for (let at = first; at < first + BATCH; at++) calls.push(lock(client, at, leaseMs));
    await Promise.all(calls);
  }
}

function lock(client, number, leaseMs) {
  const digits = String(number);
  const key = `lock:${digits.padStart(27, '0')}`;
  return client.call('SET', key, digits.padStart(36, 'f'), 'NX', 'PX', String(leaseMs));
}

async function untilEmpty(client, endMs) {
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, endMs - performance.now() - 500)));
  while ((await client.call('DBSIZE')) !== ':0') {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
