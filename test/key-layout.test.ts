import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createLocks, type Lock, type Locks } from '../src/index.ts';
import { LOCK_SCRIPT } from '../src/stores/index.ts';
import { ROOT } from './cli-process.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';

const layout = readFileSync(join(ROOT, 'docs/key-layout.md'), 'utf8');
const LOCK = 'order:42';

/** The holder keys that the page names, and what they are said to be. */
const KINDS = [
  { prefix: 'lock', lockOf: (locks: Locks) => locks.mutex(LOCK), isMutex: true },
  { prefix: 'semaphore', lockOf: (locks: Locks) => locks.semaphore(LOCK, 1), isMutex: false },
  { prefix: 'rw', lockOf: (locks: Locks) => locks.readWrite(LOCK).write, isMutex: false },
] as const;

describe('docs/key-layout.md', () => {
  let server: RunningServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRealRedis();
    redis = new Redis(server.port, server.host);
  });
  beforeEach(() => redis.flushall());
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  const connect = (user = ''): Locks => createLocks(`redis://${user}${server.host}:${server.port}`);

  it.each(KINDS)(
    'lists every key of a $prefix that is waited for',
    async ({ prefix, lockOf, isMutex }) => {
      await using holders = connect();
      await using waiters = connect();
      await lockOf(holders).acquire();
      const waiting = lockOf(waiters).acquire();
      waiting.catch(() => {});
      await untilAwaited(lockOf(holders));
      expect(layout).toContain(`\`${prefix}:{${LOCK}}\``);
      const holder = `${prefix}:{${LOCK}}`;
      const found = (await redis.keys('*')).filter((key) => key !== holder);
      const types = await Promise.all(
        found.map(async (key) => [asListed(key, holder), await redis.type(key)]),
      );
      expect(Object.fromEntries(types)).toEqual(listedHelpers(isMutex));
      const lives = await Promise.all([holder, ...found].map((key) => redis.pttl(key)));
      expect(Math.min(...lives)).toBeGreaterThan(0);
    },
  );

  it('has commands for other programs that exclude a mutex, and are excluded by it', async () => {
    const [set, del] = /```\n(SET .*)\n(EVAL .*)\n```/.exec(layout)!.slice(1).map(toWords);
    await using locks = connect();
    expect(await call(redis, set!)).toBe('OK');
    expect(await locks.mutex(LOCK).tryAcquire()).toBe(null);
    expect(await call(redis, del!)).toBe(1);
    await using lease = await locks.mutex(LOCK).acquire({ wait: 0 });
    expect(await call(redis, set!)).toBe(null);
    expect(await call(redis, del!)).toBe(0);
    lease.assertHeld();
  });

  it('has a rule that gives a user the rights that locks need', async () => {
    await call(redis, toWords(/^ACL SETUSER locks .*$/m.exec(layout)![0]));
    await using holders = connect('locks:secret@');
    await using waiters = connect('locks:secret@');
    for (const { lockOf } of KINDS) {
      const lease = await lockOf(holders).acquire();
      const waiting = lockOf(waiters).acquire();
      await untilAwaited(lockOf(holders));
      expect(await lease.release()).toBe('released');
      expect((await waiting).fence).toBeGreaterThan(lease.fence);
    }
    expect(await call(redis, ['ACL', 'LOG'])).toEqual([]);
  });

  it('lists the keys of a session, and the rule that they need', async () => {
    const [, keys] = /needs `(~\S+)` too/.exec(layout)!;
    await call(redis, [...toWords(/^ACL SETUSER locks .*$/m.exec(layout)![0]), keys!]);
    const user = new Redis({ ...server, username: 'locks', password: 'secret' });
    onTestFinished(() => user.disconnect());
    const token = 'client.1 ["host",1,""]';
    const holder = `lock:{${LOCK}}`;
    await user.eval(LOCK_SCRIPT, 0, 's', 'open');
    await user.eval(LOCK_SCRIPT, 1, holder, 'acquire', token, '3000', 's');
    const [, hash] = /^\| `(holdfast:\S+)<id>` \|/m.exec(layout)!;
    expect(await redis.hgetall(`${hash}s`)).toEqual({ open: '', [token]: `0 1 3000 ${holder}` });
    expect(await user.eval(LOCK_SCRIPT, 0, 's', 'exit')).toBe('OK');
    expect(await redis.keys('*')).toEqual([`${holder}:fence`]);
    expect(await user.eval(LOCK_SCRIPT, 1, holder, 'acquire', token, '3000', 's')).toBe(
      'NOSESSION',
    );
  });
});

async function untilAwaited(lock: Lock): Promise<void> {
  while ((await lock.inspect()).waiters.length === 0);
}

/** The table of helpers, as a name and a type; some are not for a mutex. */
function listedHelpers(isMutex: boolean): Record<string, string> {
  const rows = layout.matchAll(/^\| `…(:[^`]+)` \| ([\w ]+) \| (.*)$/gm);
  const entries = [...rows].filter(
    ([, , , what]) => !isMutex || !what!.startsWith('not for a mutex'),
  );
  return Object.fromEntries(entries.map(([, name, type]) => [name, TYPES[type!]]));
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  hash: 'hash',
  'sorted set': 'zset',
};

function asListed(key: string, holder: string): string {
  return key.slice(holder.length).replace(/^:queue:.*/, ':queue:<client>');
}

function toWords(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
}

function call(redis: Redis, [command, ...words]: string[]): Promise<unknown> {
  return redis.call(command!, ...words);
}
