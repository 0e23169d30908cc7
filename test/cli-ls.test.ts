import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLocks, type Lock, type Locks } from '../src/index.ts';
import { forceLock, type RunScript, readLocks } from '../src/stores/index.ts';
import { CliProcess, type Ended, runCli } from './cli-process.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';
import { freePort, type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

/** Names with braces, patterns, bytes and control characters that need care. */
const ODD_NAMES = [
  'a}b{c',
  '}x',
  '%y',
  'x}:queue',
  'lock:{x}:queue',
  'nul\0\x1b[2Jesc\u009b',
  '锁🔒名',
  'back\\slash',
  '[lsr]*?',
  'rtl\u202eabc',
];

interface ListedJson {
  readonly name: string;
  readonly kind: string;
  readonly holderCount: number;
  readonly holders: readonly PartyJson[];
  readonly waiterCount: number;
  readonly waiters: readonly PartyJson[];
}

interface PartyJson {
  readonly fence: number;
  readonly label: string;
  readonly permits: number;
  readonly ageMs: number;
  readonly leftMs: number;
}

const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

async function untilAwaited(lock: Lock, count: number): Promise<void> {
  while ((await lock.inspect()).waiters.length < count);
}

describe.each([
  { server: 'real Redis', start: () => startRealRedis() },
  { server: 'holdfast serve', start: () => startHoldfast() },
])('locks on $server', ({ start }) => {
  let server: RunningServer;
  let redis: Redis;
  let url: `redis://${string}`;

  beforeAll(async () => {
    server = await start();
    url = `redis://${server.host}:${server.port}`;
    redis = new Redis(server.port, server.host);
  });
  beforeEach(() => redis.flushall());
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  const holdfast = async (...args: string[]): Promise<Ended> => {
    const ended = await runCli(args, { environment: { HOLDFAST_STORE: url } });
    return { ...ended, output: utf8(ended.output), errors: utf8(ended.errors) };
  };
  const listed = async (...args: string[]): Promise<ListedJson[]> =>
    JSON.parse((await holdfast('ls', '--json', ...args)).output).locks;

  /** Acquires a lock of each kind, with one holder and two waiters. */
  async function fill(holders: Locks, waiters: Locks): Promise<ReadonlyMap<string, Lock>> {
    const kinds = new Map<string, (locks: Locks) => Lock>([
      ['mutex', (locks) => locks.mutex('job')],
      ['semaphore', (locks) => locks.semaphore('job', 3, { permits: 2 })],
      ['rw', (locks) => locks.readWrite('job').write],
    ]);
    for (const lockOf of kinds.values()) {
      await lockOf(holders).acquire({ label: 'first' });
      for (const label of ['second', 'third']) {
        lockOf(waiters)
          .acquire({ label })
          .catch(() => {});
        await untilAwaited(lockOf(holders), label === 'second' ? 1 : 2);
      }
    }
    return new Map([...kinds].map(([kind, lockOf]) => [kind, lockOf(holders)]));
  }

  it('are listed as inspect() sees them, in every kind, and nothing is written', async () => {
    await using holders = createLocks(url);
    await using waiters = createLocks(url);
    const kinds = await fill(holders, waiters);
    const keysBefore = (await redis.keys('*')).sort();
    const locks = await listed();
    expect((await redis.keys('*')).sort()).toEqual(keysBefore);
    expect(locks.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'job mutex',
      'job rw',
      'job semaphore',
    ]);
    for (const lock of locks) {
      const {
        holders: [seen],
        waiters: line,
      } = await kinds.get(lock.kind)!.inspect();
      expect(lock).toMatchObject({ holderCount: 1, waiterCount: 2 });
      const [holder] = lock.holders;
      if (seen === undefined || seen.foreign) throw new Error('a Holdfast client holds it');
      const { host, pid, label, permits, fence } = seen;
      expect(holder).toMatchObject({ host, pid, label, permits, fence, foreign: false });
      expect(Math.abs(holder!.leftMs - seen.leftMs)).toBeLessThan(withinMs(5000));
      expect(Math.abs(holder!.ageMs - seen.ageMs)).toBeLessThan(withinMs(5000));
      expect(lock.waiters.map((waiter) => waiter.label)).toEqual(line.map((each) => each.label));
      expect(lock.waiters.map((waiter) => waiter.permits)).toEqual(
        line.map((each) => each.permits),
      );
      expect(lock.waiters[0]).toMatchObject({ leaseMs: 30_000, pid: process.pid });
    }
  });

  it('are a table with a row for each lock, and one row for mutex and write side of one process', async () => {
    await using holders = createLocks(url);
    await using waiters = createLocks(url);
    await fill(holders, waiters);
    await holders.readWrite('read by two').read.acquire();
    await holders.readWrite('read by two').read.acquire();
    const { code, output } = await holdfast('ls');
    expect(code).toBe(0);
    const who = `${hostname()}:${process.pid}`;
    const [head, ...lines] = output.trimEnd().split('\n');
    expect(head).toMatch(/^NAME +KIND +HOLDER +AGE +LEFT +FENCE +WAITING$/);
    expect(lines.map((line) => line.replace(/ {2,}.*/, ''))).toEqual(['job', 'job', 'read by two']);
    expect(lines[0]).toMatch(
      new RegExp(`^job +mutex\\+write +${who} first +\\d\\.\\ds +\\d+s +\\d{16} +4$`),
    );
    expect(lines[1]).toMatch(/ semaphore /);
    expect(lines[2]).toMatch(new RegExp(` read +${who} \\+1 .* -$`));
    expect(output).not.toContain('\x1b');
  });

  it('keep any name, and print no control characters', async () => {
    await using locks = createLocks(url);
    for (const name of ODD_NAMES) await locks.mutex(name).acquire({ label: 'l\x1b[31m\u202e' });
    const found = await listed();
    expect(found.map(({ name }) => name).sort()).toEqual([...ODD_NAMES].sort());
    const table = await holdfast('ls');
    const json = await holdfast('ls', '--json');
    for (const { output } of [table, json]) {
      expect(output).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/);
    }
    const names = (await holdfast('ls', '--quiet')).output.trimEnd().split('\n');
    expect(names).toHaveLength(ODD_NAMES.length);
    for (const name of names) {
      expect((await holdfast('show', '--escaped', name)).code, name).toBe(0);
    }
  });

  it('are found by a pattern for their names', async () => {
    await using locks = createLocks(url);
    for (const name of ['order:1', 'order:2', 'user:1', '}order'])
      await locks.mutex(name).acquire();
    await locks.semaphore('order:3', 2).acquire();
    const names = async (pattern: string): Promise<string[]> =>
      (await listed(pattern)).map(({ name }) => name);
    expect(await names('order:*')).toEqual(['order:1', 'order:2', 'order:3']);
    expect(await names('*:1')).toEqual(['order:1', 'user:1']);
    expect(await names('}*')).toEqual(['}order']);
    expect(await names('none')).toEqual([]);
  });

  it('of other programs are marked, and other keys are not listed', async () => {
    await redis.set('lock:{foreign}', 'tok-1', 'PX', 600_000);
    await redis.set('lock:{endless}', 'x [1,2]');
    await redis.set('rw:{a string}', '1');
    await redis.set('session:{1}', '1');
    await redis.set(Buffer.from('lock:{\xff}', 'latin1'), 'raw');
    const [endless, foreign, raw] = await listed();
    expect(endless).toMatchObject({ name: 'endless', holders: [{ owner: 'x [1,2]' }] });
    expect(endless!.holders[0]).toMatchObject({ foreign: true, leftMs: null, fence: null });
    expect(foreign!.holders[0]).toMatchObject({ foreign: true, host: null, owner: 'tok-1' });
    expect(foreign!.holders[0]!.leftMs).toBeGreaterThan(500_000);
    expect(raw).toMatchObject({ nameBase64: '/w==' });
    const { output } = await holdfast('ls');
    expect(output.trimEnd().split('\n')).toHaveLength(4);
    expect(output).toMatch(/^foreign +mutex +\(another program\) tok-1 +- +9m\d\ds +- +-$/m);
    expect(output).toMatch(/^endless .* no end /m);
    expect((await holdfast('show', '-E', '\\xff')).output).toContain('value raw');
  });

  it('of other programs that are no strings are shown by their type', async () => {
    await redis.lpush('lock:{a}', '1');
    expect(await listed()).toMatchObject([
      { holders: [{ foreign: true, type: 'list', owner: '' }] },
    ]);
  });

  it('with a waiter are listed without a holder; dead waiters are not counted', async () => {
    const waiters = ['1 30000 dead.1 ["host",1,"second"]', '1 30000 alive.1 ["host",2,"third"]'];
    await redis.zadd('lock:{job}:queue', 1, waiters[0]!, 2, waiters[1]!);
    await redis.set('lock:{job}:queue:alive', '', 'PX', 10_000);
    const lock = (await listed()).find(({ kind }) => kind === 'mutex');
    expect(lock).toMatchObject({ holderCount: 0, holders: [], waiterCount: 1 });
    expect(lock!.waiters.map((waiter) => waiter.label)).toEqual(['third']);
    expect((await holdfast('ls')).output).toMatch(/^job +mutex +\(none\) +- +- +- +1$/m);
  });

  it('whose leases have ended are not held, before they are cleaned up', async () => {
    await using locks = createLocks(url);
    await locks.semaphore('pool', 2).acquire({ label: 'ended' });
    await locks.semaphore('pool', 2).acquire({ label: 'live' });
    const tokens = await redis.zrange('semaphore:{pool}', '0', '-1');
    await redis.zadd('semaphore:{pool}', 0, tokens.find((token) => token.includes('ended'))!);
    const [pool] = await listed();
    expect(pool).toMatchObject({ holderCount: 1, holders: [{ label: 'live' }] });
  });

  it('without a holder are free, with exit code 1', async () => {
    expect((await holdfast('ls')).output).toBe('No lock has a holder or a waiter.\n');
    expect(await holdfast('show', 'job')).toEqual({
      code: 1,
      output: 'job is free.\n',
      errors: '',
    });
    const { code, output } = await holdfast('show', 'job', '--json');
    expect(code).toBe(1);
    expect(JSON.parse(output)).toMatchObject({ name: 'job', free: true, locks: [] });
    expect(await redis.dbsize()).toBe(0);
  });

  it('are shown with all holders and waiters in order', async () => {
    await using holders = createLocks(url);
    await using waiters = createLocks(url);
    await fill(holders, waiters);
    const { code, output } = await holdfast('show', 'job');
    expect(code).toBe(0);
    const who = `${hostname()}, pid ${process.pid}`;
    expect(output).toMatch(/^job \(mutex\): held by 1, 2 waiting$/m);
    expect(output).toMatch(/^job \(semaphore\): held by 1, 2 waiting$/m);
    expect(output).toMatch(/^job \(write\): held by 1, 2 waiting$/m);
    expect(output).toContain(`  holds   ${who}, “first” (2 permits)\n`);
    expect(output).toMatch(/^ {10}for \d\.\ds, \d+s left, fence \d{16}, owner [\w-]+\.\w+$/m);
    expect(output).toContain(`  waits   1. ${who}, “second”, wants 30s\n`);
    expect(output).toContain(`  waits   2. ${who}, “third”, wants 30s\n`);
  });

  it('are released only with --force and --reason; without --force in three lines', async () => {
    await using holders = createLocks(url);
    const lease = await holders.mutex('job').acquire({ label: 'first' });
    const refused = await holdfast('release', 'job');
    expect(refused.code).toBe(2);
    const holder = `${hostname()}, pid ${process.pid}, “first” for 0.\\ds`;
    const [held, ...advice] = refused.errors.split('\n');
    expect(held).toMatch(new RegExp(`^holdfast: job \\(mutex\\) is held by ${holder}\\.$`));
    expect(advice).toEqual([
      'holdfast: Waiting: 0. A forced release does not stop the holder: it may still be at work.',
      "holdfast: To take the lock away all the same, add --force --reason '…'.",
      '',
    ]);
    for (const args of [['--force'], ['--force', '--reason', ' '], ['--reason', 'x']]) {
      expect((await holdfast('release', 'job', ...args)).code).toBe(2);
    }
    lease.assertHeld();
    expect(await holders.mutex('job').inspect()).toMatchObject({ holders: [{ label: 'first' }] });
  });

  it('that are released by force go to the first waiter, with a larger fence and a note', async () => {
    await using holders = createLocks(url);
    await using waiters = createLocks(url);
    const lease = await holders.mutex('job').acquire({ label: 'first' });
    const waiting = waiters.mutex('job').acquire({ label: 'second' });
    await untilAwaited(holders.mutex('job'), 1);
    const { code, output } = await holdfast(
      'release',
      'job',
      '--force',
      '--reason',
      'grün\x1b[31m',
    );
    expect(code).toBe(0);
    expect(output).toMatch(
      /^job \(mutex\) was taken from\n {2}.*“first”.*\nIt was handed to\n {2}.*“second”/,
    );
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
    await expect(lease.extend()).rejects.toMatchObject({ reason: 'stolen' });
    const shown = await holdfast('show', 'job');
    expect(shown.output).toMatch(
      / {2}forced {2}\d{4}-.*Z by .*, from 1 holder: “grün\\x1b\[31m”\n$/,
    );
    const [note] = JSON.parse((await holdfast('show', 'job', '--json')).output).locks[0].forced;
    expect(note).toMatchObject({ reason: 'grün\x1b[31m', host: hostname(), pid: process.pid });
    const leftMs = await redis.pttl('lock:{job}:forced');
    expect(leftMs).toBeGreaterThan(29 * 86_400_000);
    expect(leftMs).toBeLessThanOrEqual(30 * 86_400_000);
  });

  it.each(['shop:', 'lock:', '*[a]\\?', '店：'])(
    'with the prefix %s are listed, shown and released with --prefix',
    async (prefix) => {
      await using plain = createLocks(url);
      await using locks = createLocks({ url, prefix });
      await plain.mutex('plain').acquire();
      await locks.mutex('job').acquire({ label: 'with a prefix' });
      await locks.semaphore('pool', 2).acquire();
      await locks.readWrite('page').write.acquire();
      const given = ['--prefix', prefix];
      expect((await holdfast('ls', '-q')).output).toBe('plain\n');
      expect((await holdfast('ls', '-q', ...given)).output).toBe('job\npage\npool\n');
      expect((await holdfast('ls', '-q', 'p*', ...given)).output).toBe('page\npool\n');
      expect((await holdfast('ls', '-q', '--prefix', `${prefix}x`)).output).toBe('');
      expect((await holdfast('show', 'job')).code).toBe(1);
      expect((await holdfast('show', 'job', ...given)).output).toContain('with a prefix');
      for (const name of ['job', 'pool', 'page']) {
        const { code } = await holdfast('release', name, '-f', '--reason', 'x', ...given);
        expect([name, code]).toEqual([name, 0]);
      }
      expect((await holdfast('ls', '-q', ...given)).output).toBe('');
      expect((await holdfast('ls', '-q')).output).toBe('plain\n');
    },
  );

  it('refuse a prefix with a brace, and one beside --foreign', async () => {
    for (const words of [['ls'], ['show', 'a'], ['release', 'a'], ['run', 'a', '-c', 'true']]) {
      const { code, errors } = await holdfast(...words, '--prefix', '{a}');
      expect(errors).toContain("--prefix is a text without '{', such as shop:; got '{a}'.");
      expect(code).toBe(2);
    }
    const { code, errors } = await holdfast('ls', '--foreign', '--prefix', 'shop:');
    expect(errors).toContain('the pattern is for whole keys');
    expect(code).toBe(2);
  });

  it('of a run with HOLDFAST_PREFIX are those of programs with that prefix', async () => {
    const environment = { HOLDFAST_STORE: url, HOLDFAST_PREFIX: 'shop:' };
    await using locks = createLocks({ url, prefix: 'shop:' });
    await using _lease = await locks.mutex('job').acquire();
    await using busy = CliProcess.node(['run', 'job', '-n', '--', 'true'], { environment });
    expect(await busy.ended()).toBe(75);
    await using free = CliProcess.node(['run', 'job', '-n', '--prefix', '', '--', 'true'], {
      environment,
    });
    expect(await free.ended()).toBe(0);
  });

  it('keep the last ten notes, also while they are free', async () => {
    await using locks = createLocks(url);
    for (let round = 0; round < 12; round++) {
      await locks.mutex('job').acquire();
      await holdfast('release', 'job', '-f', '--reason', `reason ${round}`);
    }
    const { code, output } = await holdfast('show', 'job');
    expect(code).toBe(1);
    expect(output).toMatch(/^job \(mutex\): free\n {2}forced {2}.*reason 11”\n/);
    expect(output.match(/forced/g)).toHaveLength(10);
  });

  it('that are free are not changed by --force', async () => {
    const { code, errors } = await holdfast('release', 'job', '--force', '--reason', 'x');
    expect({ code, errors }).toEqual({
      code: 1,
      errors: "holdfast: 'job' is free: it has no holder.\n",
    });
    expect(await redis.dbsize()).toBe(0);
  });

  it('that were released just before a forced release are not changed', async () => {
    const run: RunScript = (text, keys, args) => redis.eval(text, keys.length, ...keys, ...args);
    const note = { host: 'h', pid: 1, user: 'u', reason: 'x' };
    const done = await forceLock(run, { kind: 'mutex', nameBytes: 'job' }, note);
    expect(done!.before).toMatchObject({ holderCount: 0 });
    expect(done!.after).toEqual(done!.before);
    expect(await redis.dbsize()).toBe(0);
  });

  it.each(['mutex', 'semaphore'])(
    'that others than the given owners hold are not changed: %s',
    async (kind) => {
      const run: RunScript = (text, keys, args) => redis.eval(text, keys.length, ...keys, ...args);
      const note = { host: 'h', pid: 1, user: 'u', reason: 'x' };
      await using locks = createLocks(url);
      const lock = kind === 'mutex' ? locks.mutex('job') : locks.semaphore('job', 2);
      await lock.acquire();
      const found = (await readLocks(run, 'job')).find((each) => each.lock.kind === kind)!;
      const owners = found.lock.holders.map(({ owner }) => owner);
      expect(await forceLock(run, found.lock, note, '', ['another'])).toBeUndefined();
      expect((await lock.inspect()).holders).toHaveLength(1);
      const done = await forceLock(run, found.lock, note, '', ['another', ...owners]);
      expect(done).toMatchObject({ before: { holderCount: 1 }, after: { holderCount: 0 } });
    },
  );

  it('with permits hand over no more permits than there are', async () => {
    await using holders = createLocks(url);
    await using waiters = createLocks(url);
    await holders.semaphore('pool', 2).acquire();
    await holders.semaphore('pool', 2).acquire();
    const waiting = ['a', 'b', 'c'].map((label) => waiters.semaphore('pool', 2).acquire({ label }));
    for (const each of waiting) each.catch(() => {});
    await untilAwaited(holders.semaphore('pool', 2), 3);
    expect((await holdfast('release', 'pool', '-f', '--reason', 'x')).output).toMatch(
      /was taken from\n.*\n.*\nIt was handed to\n.*\n.*\n$/,
    );
    await Promise.all(waiting.slice(0, 2));
    const seen = await holders.semaphore('pool', 2).inspect();
    expect(seen).toMatchObject({
      holders: [{ label: 'a' }, { label: 'b' }],
      waiters: [{ label: 'c' }],
    });
  });

  it('of several kinds need --kind, unless one program holds them all', async () => {
    await using locks = createLocks(url);
    await redis.set('lock:{job}', 'tok-1', 'PX', 600_000);
    await locks.semaphore('job', 1).acquire();
    const args = ['release', 'job', '--force', '--reason', 'x'];
    const { code, errors } = await holdfast(...args);
    expect(code).toBe(2);
    expect(errors).toContain('add --kind mutex or --kind semaphore.');
    expect((await holdfast(...args, '--kind', 'mutex')).code).toBe(0);
    expect((await listed()).map(({ kind }) => kind)).toEqual(['semaphore']);
    await locks.mutex('job').acquire();
    expect((await holdfast(...args)).code).toBe(0);
    expect(await listed()).toEqual([]);
  });

  it('are listed by the thousand, a page at a time and never with KEYS', async () => {
    const pipeline = redis.pipeline();
    for (let index = 0; index < 10_000; index++) {
      pipeline.set(`lock:{n:${index}}`, `o${index}.1 ["h",1,""]`, 'PX', 600_000);
      pipeline.set(`lock:{n:${index}}:fence`, '1000000', 'PX', 600_000);
    }
    await pipeline.exec();
    await redis.config('RESETSTAT');
    await using ls = CliProcess.node(['ls', '--quiet', '--store', url]);
    expect(await ls.ended()).toBe(0);
    const names = ls.text.trimEnd().split('\n');
    expect(new Set(names).size).toBe(10_000);
    expect(names).toHaveLength(10_000);
    const stats = await redis.info('commandstats');
    expect(stats).not.toMatch(/^cmdstat_keys:/m);
    const pages = Number(/^cmdstat_scan:calls=(\d+)/m.exec(stats)![1]);
    expect(pages).toBeGreaterThanOrEqual(20_000 / 1000);
  });
});

describe('locks in a cluster', () => {
  let cluster: RealCluster;
  beforeAll(async () => {
    cluster = await startRealCluster();
  });
  afterAll(() => cluster.stop());

  it('are found on every master, and shown and released from any', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `n${index}`);
    await Promise.all(
      names.map((name) => {
        // Each is set where its slot is, as a client of the cluster would.
        const token = `${randomUUID()} ["h",1,""]`;
        return Promise.any(
          cluster.masters.map(({ client }) => client.set(`lock:{${name}}`, token, 'PX', 600_000)),
        );
      }),
    );
    const counts = await Promise.all(cluster.masters.map(({ client }) => client.dbsize()));
    expect(Math.min(...counts)).toBeGreaterThan(0);
    const environment = { HOLDFAST_STORE: `redis://127.0.0.1:${cluster.masters[0]!.port}` };
    const { output } = await runCli(['ls', '--quiet'], { environment });
    expect(output.trimEnd().split('\n').sort()).toEqual(names.sort());
    for (const name of names) {
      const args = [name, '--force', '--reason', 'x'];
      expect((await runCli(['show', name], { environment })).code).toBe(0);
      expect((await runCli(['release', ...args], { environment })).code).toBe(0);
    }
    expect((await runCli(['ls', '--quiet'], { environment })).output).toBe('');
  });
});

describe('the locks of this machine', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-ls-local-'));
  const environment = { HOLDFAST_RUNTIME_DIR: folder };
  afterAll(async () => {
    for (const socket of readdirSync(folder).filter((name) => name.endsWith('.sock'))) {
      await runCli(['cli', '--store', `unix:${join(folder, socket)}`, 'SHUTDOWN', 'NOSAVE']);
    }
    rmSync(folder, { recursive: true });
  });

  it('are those of the local server, which is not started; a run is one row', async () => {
    expect((await runCli(['ls'], { environment })).output).toMatch(/^No lock has a holder/);
    expect((await runCli(['show', 'job'], { environment })).code).toBe(1);
    const release = ['release', 'job', '--force', '--reason', 'x'];
    expect((await runCli(release, { environment })).code).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
    const command = ['--', 'sh', '-c', 'echo started; exec sleep 600'];
    // The run notices the forced release when it renews its lease.
    const options = ['--label', 'mine', '--lease', '6s'];
    await using run = CliProcess.node(['run', 'job', ...options, ...command], { environment });
    await run.waitFor(/started/);
    const { code, output } = await runCli(['ls', '--json'], { environment });
    expect(code).toBe(0);
    const list = JSON.parse(output);
    expect(list.store).toBe('local');
    expect(list.locks[0]).toMatchObject({ name: 'job', holders: [{ label: 'mine' }] });
    expect(list.locks).toHaveLength(2);
    const fence = Math.max(...list.locks.map((lock: ListedJson) => lock.holders[0]!.fence));
    const [head, row, ...others] = (await runCli(['ls'], { environment })).output.split('\n');
    expect(head).toMatch(/^NAME +KIND /);
    expect(row).toMatch(new RegExp(`^job +mutex\\+write +\\S+ mine +\\S+ +\\S+ +${fence} +-$`));
    expect(others).toEqual(['']);
    const refused = await runCli(['release', 'job'], { environment });
    expect(refused.errors).toMatch(/^holdfast: job \(mutex\+write\) is held by .*\n.*\n.*\n$/);
    expect((await runCli(release, { environment })).code).toBe(0);
    // The command is ended when its lock is lost.
    expect(await run.ended()).toBe(79);
  });
});

describe('a store that cannot be used', () => {
  const VERBS = [['ls'], ['ls', '--watch'], ['show', 'job'], ['release', 'job']];

  it.each(VERBS)('that is down returns exit code 69: %s %s', async (...args) => {
    const port = await freePort();
    const { code, output, errors } = await runCli([
      ...args,
      '--store',
      `redis://127.0.0.1:${port}`,
    ]);
    expect({ code, output }).toEqual({ code: 69, output: '' });
    expect(errors).toMatch(/^holdfast: Could not connect to 127\.0\.0\.1:\d+ \(ECONNREFUSED\)/);
  });

  it('that requires a password names HOLDFAST_PASSWORD', async () => {
    const server = await startRealRedis('--requirepass', 'secret');
    const at = (user: string): string => `redis://${user}127.0.0.1:${server.port}`;
    const ls = (user: string, environment = {}): Promise<Ended> =>
      runCli(['ls', '--store', at(user)], { environment });
    const missing = await ls('');
    expect(missing.code).toBe(69);
    expect(missing.errors).toMatch(/answers: NOAUTH .*HOLDFAST_PASSWORD, .*\n$/);
    const wrong = await ls(':wrong@');
    expect(wrong.code).toBe(69);
    expect(wrong.errors).toMatch(/answers: WRONGPASS .*\n$/);
    expect(wrong.errors).not.toContain('wrong@');
    expect((await ls(':secret@')).code).toBe(0);
    expect((await ls('', { HOLDFAST_PASSWORD: 'secret' })).code).toBe(0);
    await server.stop();
  });

  it('that accepts a connection and sends nothing is given up after 5 s', async () => {
    // Real time must pass: the test waits for a timeout.
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const { code, errors } = await runCli(['ls', '--store', `redis://127.0.0.1:${port}`]);
    expect(code).toBe(69);
    expect(errors).toBe(`holdfast: 127.0.0.1:${port} did not answer within 5 s.\n`);
    silent.close();
  });

  it.each([
    [['ls', '--store', 'mysql://host'], 'A store is redis://'],
    [['ls', '--wach'], "Unknown option '--wach'; did you mean --watch."],
    [['show', 'a', '--jsn'], 'did you mean --json.'],
    [['release', 'a', '--forse'], 'did you mean --force.'],
    [['show'], 'The name of a lock is missing.'],
    [['show', 'a', 'b'], "'b' is one word too many."],
    [['release', 'a', '--kind', 'mutes'], "--kind is mutex, semaphore, rw, not 'mutes'."],
    [['ls', '--json', '--quiet'], 'Choose --json or --quiet.'],
  ])('or a wrong command line returns exit code 2: %j', async (args, message) => {
    const { code, errors } = await runCli(args);
    expect(code).toBe(2);
    expect(errors).toContain(message);
  });

  it('accepts a name that begins with - after --', async () => {
    const server = await startHoldfast();
    const { output } = await runCli([
      'show',
      '--store',
      `redis://127.0.0.1:${server.port}`,
      '--',
      '-x',
    ]);
    expect(output).toBe('-x is free.\n');
    await server.stop();
  });
});
