// A program that takes locks with the built package, as a user would write it. It executes the requests of its parent
// (see lock-holder-process.ts), which can stop, kill and stall it.
import { Redis } from 'ioredis';

const { createLocks, redisStore } = await import(process.env.HOLDFAST_BUILD);
const client = new Redis({
  port: Number(process.env.HOLDFAST_PORT),
  host: '127.0.0.1',
  retryStrategy: () => 10,
});
client.on('error', () => {});
const locks = createLocks({ store: redisStore(client) });

let lease;
/** Read once at the grant, as in programs that pass it on. */
let signal;

/** The state of the lease now, without a request. */
function leaseState() {
  return {
    keptSignalAborted: signal.aborted,
    leaseSignalAborted: lease.signal.aborted,
    ...check(),
  };
}

function check() {
  try {
    lease.assertHeld();
    return { held: true };
  } catch (error) {
    return { held: false, code: error.code, reason: error.reason };
  }
}

const FENCED_WRITE = `
  local last = tonumber(redis.call('HGET', KEYS[1], 'fence') or '0')
  if tonumber(ARGV[1]) < last then return 0 end
  redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
  return 1`;

const VERBS = {
  async acquire({ name, permits, ...options }) {
    const lock = permits === undefined ? locks.mutex(name) : locks.semaphore(name, permits);
    lease = await lock.acquire(options);
    signal = lease.signal;
    signal.addEventListener('abort', ({ target }) => {
      process.send({ event: 'lost', reason: target.reason.reason ?? target.reason.code });
    });
    return { fence: lease.fence };
  },
  leaseState,
  release: () => lease.release(),
  close: () => locks.close(),
  stall({ durationMs, turns }) {
    const untilMs = performance.now() + durationMs;
    while (performance.now() < untilMs);
    return turns
      ? new Promise((resolve) => setImmediate(() => resolve(leaseState())))
      : leaseState();
  },
  async read({ key }) {
    return Number((await client.hget(key, 'value')) ?? 0);
  },
  async write({ key, value }) {
    await client.hset(key, 'value', value);
    return true;
  },
  async writeFenced({ key, value }) {
    return (await client.eval(FENCED_WRITE, 1, key, lease.fence, value)) === 1;
  },
};

process.on('message', async ({ id, verb, options }) => {
  try {
    process.send({ id, value: await VERBS[verb](options) });
  } catch (error) {
    process.send({ id, error: { name: error.name, code: error.code, message: error.message } });
  }
});
// The parent has ended.
process.on('disconnect', () => process.exit());
process.send({ event: 'ready' });
