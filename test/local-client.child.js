// A program that uses the local server of its user, on the package as it was built. It does what its parent
// asks for (see local-client.ts) and nothing else.
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

const { createLocks } = await import(process.env.HOLDFAST_BUILD);
const { openLocalSession } = await import(new URL('./public/local.js', process.env.HOLDFAST_BUILD));

const environment = process.env;
let session;
let locks;
let lease;

/** Asks again if the server has just moved its socket. */
async function serverPid(address) {
  for (let left = 20; ; left--) {
    try {
      return await readPid(address);
    } catch (error) {
      if (left === 0) throw error;
      await sleep(50);
    }
  }
}

async function readPid(address) {
  const client = new Redis({ path: address.replace(/^unix:/, ''), lazyConnect: true });
  await client.connect();
  const info = await client.info('server');
  client.disconnect();
  return Number(/process_id:(\d+)/.exec(info)[1]);
}

/** Fails if another process is inside at the same time. */
function inside(folder) {
  const path = join(folder, 'inside');
  closeSync(openSync(path, 'wx'));
  unlinkSync(path);
}

const VERBS = {
  async open() {
    session = await openLocalSession({ environment });
    session.ended.then(() => process.send({ event: 'ended' }));
    return { address: session.address, pid: await serverPid(session.address) };
  },
  async close() {
    await locks?.close();
    await session.close();
    locks = undefined;
  },
  async acquire({ name, ...options }) {
    locks ??= createLocks(session.address, { session });
    lease = await locks.mutex(name).acquire(options);
    lease.signal.addEventListener('abort', () => process.send({ event: 'lost' }));
    return { fence: lease.fence };
  },
  /** On any server, with a session of its own. */
  async acquireAt({ address, name, ...options }) {
    locks = createLocks(address, { session: true });
    lease = await locks.mutex(name).acquire(options);
    return { fence: lease.fence };
  },
  release: () => lease.release(),
  /** Again and again: comes, holds a lock for a moment, and goes, for long enough that the server may end. */
  async visit({ folder, count }) {
    const addresses = [];
    for (let turn = 0; turn < count; turn++) {
      const own = await openLocalSession({ environment });
      const visitors = createLocks(own.address, { session: own });
      await visitors.mutex('inside').run(() => inside(folder), { wait: '60s' });
      addresses.push(own.address);
      await visitors.close();
      await own.close();
      await sleep(100 * Math.random());
    }
    return addresses;
  },
};

process.on('message', async ({ id, verb, options }) => {
  try {
    process.send({ id, value: await VERBS[verb](options) });
  } catch (error) {
    process.send({ id, error: { name: error.name, code: error.code, message: error.message } });
  }
});
// The parent may die without a message.
process.on('disconnect', () => process.exit());
process.send({ event: 'ready' });
