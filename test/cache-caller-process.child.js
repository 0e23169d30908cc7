// A program with many callers of one cache, on the package as it was built. It receives its calls from its parent (see
// cache-caller-process.ts), which can stop, continue and kill it.
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';

const { createLocks } = await import(process.env.HOLDFAST_BUILD);
const { createCache } = await import(new URL('public/cache.js', process.env.HOLDFAST_BUILD));
const port = Number(process.env.HOLDFAST_PORT);
const session = process.env.HOLDFAST_SESSION === 'yes';
const locks = createLocks(`redis://127.0.0.1:${port}`, { session });
const cache = createCache({ locks });
/** The source of the values: it counts loads, and has the server's time. */
const database = new Redis({ port, host: '127.0.0.1' });

async function serverMs() {
  const [seconds, microseconds] = await database.time();
  return seconds * 1000 + microseconds / 1000;
}

async function load(key, loadMs) {
  const value = await database.incr(`loads of ${key}`);
  const beganMs = await serverMs();
  process.send({ event: 'loading', key });
  await pause(loadMs);
  const endedMs = await serverMs();
  await database.rpush(`log of ${key}`, JSON.stringify({ value, beganMs, endedMs }));
  return value;
}

/** Each caller calls get until it returns `untilValue`. Returns the values, and the longest wait. */
async function call({ key, callers, loadMs, untilValue, ...options }) {
  const values = new Set();
  const missesBefore = cache.counts.miss;
  let longestMs = 0;
  const caller = async (number) => {
    for (let value = 0; value < untilValue; ) {
      const beganMs = performance.now();
      value = await cache.get(key, options, () => load(key, loadMs));
      values.add(value);
      longestMs = Math.max(longestMs, performance.now() - beganMs);
      // Callers spread, as requests do.
      if (value < untilValue) await pause(5 + (number % 20));
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, number) => caller(number)));
  return { values: [...values], longestMs, misses: cache.counts.miss - missesBefore };
}

process.on('message', async ({ id, options }) => {
  try {
    process.send({ id, value: await call(options) });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
});
process.send({ event: 'ready' });
