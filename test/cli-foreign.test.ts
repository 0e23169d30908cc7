import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createLocks } from '../src/index.ts';
import { type Ended, runCli } from './cli-process.ts';
import { startRealCluster } from './real-cluster.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';

const UUID = '0a1b2c3d-0000-4000-8000-00000000beef';
const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');

async function holdfast(url: string, ...args: string[]): Promise<Ended> {
  const ended = await runCli(args, { environment: { HOLDFAST_STORE: url } });
  return { ...ended, output: utf8(ended.output), errors: utf8(ended.errors) };
}

interface FindingJson {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly server: string | null;
}

async function findings(url: string, ...args: string[]): Promise<Map<string, FindingJson>> {
  const { output } = await holdfast(url, 'check', '--json', ...args);
  const list = JSON.parse(output).findings as FindingJson[];
  return new Map(list.map((finding) => [finding.check, finding]));
}

describe.each([
  { server: 'real Redis', start: () => startRealRedis() },
  { server: 'holdfast serve', start: () => startHoldfast() },
])('on $server', ({ start }) => {
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

  describe('ls --foreign', () => {
    it('lists the locks of every recipe, and none of Holdfast', async () => {
      const past = Math.floor(Date.now() / 1000) - 100;
      await redis.set('lock.time', `${past}`);
      await redis.set('lock.token', UUID, 'PX', 600_000);
      await redis.set('lock.\x1b[2J', 'x'.repeat(500));
      await redis.hset('lock:r', `${UUID}:57`, '1');
      await redis.rpush('lock.list', 'a', 'b');
      await using locks = createLocks(url);
      await locks.mutex('ours').acquire();
      await redis.set('lock:{theirs}', 'tok', 'PX', 600_000);
      const { code, output } = await holdfast(url, 'ls', '--foreign');
      expect(code).toBe(0);
      const [head, ...lines] = output.trimEnd().split('\n');
      expect(head).toMatch(/^KEY +KIND +VALUE +LEFT +IDLE$/);
      expect(lines).toEqual([
        expect.stringMatching(/^lock\.\\x1b\[2J +token +x{20}…x{19} +no end +\d\.0s$/),
        expect.stringMatching(/^lock\.list +list +\(2 members\) +no end +\d\.0s$/),
        expect.stringMatching(/^lock\.time +timestamp +\d+ \(ended 1m\d\ds ago\) +no end +\d\.0s$/),
        expect.stringMatching(new RegExp(`^lock\\.token +token +${UUID} +9m\\d\\ds +\\d\\.0s$`)),
        expect.stringMatching(new RegExp(`^lock:r +redisson +${UUID}:57 \\(1 field\\) +no end`)),
        expect.stringMatching(/^lock:\{theirs\} +token +tok +9m\d\ds +\d\.0s$/),
      ]);
    });

    it('takes a pattern, and prints names alone or JSON', async () => {
      await redis.mset('lock.a', '1', 'lock.b', 'two', 'mutex_c', '3');
      await redis.set(Buffer.from('lock.\xff', 'latin1'), Buffer.from('\xfe', 'latin1'));
      const { output } = await holdfast(url, 'ls', '--foreign', '--quiet', 'mutex_*');
      expect(output).toBe('mutex_c\n');
      const json = JSON.parse((await holdfast(url, 'ls', '--foreign', '--json')).output);
      expect(json).toMatchObject({ store: url.slice(8), truncated: false });
      expect(json.keys).toMatchObject([
        { name: 'lock.a', nameSize: 6, kind: 'token', type: 'string', value: '1', idleMs: null },
        { name: 'lock.b', idleMs: expect.any(Number), endsAt: null, hasEnded: null },
        { nameBase64: 'bG9jay7/', valueBase64: '/g==' },
      ]);
    });

    it('does not list a mutex of Holdfast with the longest label', async () => {
      await using locks = createLocks(url);
      const label = '\x01'.repeat(1024);
      await locks.mutex('x'.repeat(1024)).acquire({ label });
      expect((await locks.mutex('x'.repeat(1024)).inspect()).holders).toMatchObject([{ label }]);
      expect((await holdfast(url, 'ls', '--foreign')).output).toMatch(/^No key of another program/);
    });

    it('says that no key matches, and refuses --watch', async () => {
      const empty = await holdfast(url, 'ls', '--foreign');
      expect(empty).toMatchObject({
        code: 0,
        output: 'No key of another program matches lock*.\n',
      });
      const watched = await holdfast(url, 'ls', '--foreign', '--watch');
      expect(watched).toMatchObject({ code: 2, errors: /Choose --watch or --foreign/ });
    });

    it('walks through many keys by SCAN, never KEYS', async () => {
      const names = Array.from({ length: 3000 }, (_, index) => `lock.${index}`);
      await redis.mset(names.flatMap((name) => [name, 't']));
      await redis.config('RESETSTAT');
      const { code, output, errors } = await holdfast(url, 'ls', '--foreign', '-q');
      expect({ code, errors }).toEqual({ code: 0, errors: '' });
      expect(output.trimEnd().split('\n').sort()).toEqual(names.sort());
      const stats = await redis.info('commandstats');
      expect(stats).not.toMatch(/cmdstat_keys:/);
      expect(Number(/cmdstat_eval:calls=(\d+)/.exec(stats)![1])).toBeLessThan(20);
    });
  });

  describe('a foreign value of 10 MB', () => {
    const BIG = Buffer.alloc(1e7, '\x1b');
    const run = (): Promise<Ended> =>
      runCli(['run', 'big', '-n', '--', 'true'], {
        environment: { HOLDFAST_STORE: url, PATH: process.env['PATH']! },
      });

    it('is shown by its ends in run, show and ls, and can be released by force', async () => {
      await redis.set('lock:{big}', BIG);
      const before = process.memoryUsage().rss;
      const busy = await run();
      expect(busy.code).toBe(75);
      expect(busy.errors).toMatch(/another program \(value (\\x1b){5}.*\), no end/);
      expect(process.memoryUsage().rss - before).toBeLessThan(2e8);
      expect(await holdfast(url, 'show', 'big')).toMatchObject({ code: 0, output: /\\x1b…/ });
      expect(await holdfast(url, 'ls')).toMatchObject({ code: 0, output: /^big +mutex +\(ano/m });
      const forced = await holdfast(url, 'release', 'big', '--force', '--reason', 'test');
      expect(forced).toMatchObject({ code: 0, output: /It is free now/ });
    });

    it('makes a mutex wait, and inspect() returns the start of its value', async () => {
      await redis.set('lock:{big}', BIG);
      await using locks = createLocks(url);
      const mutex = locks.mutex('big');
      expect(await mutex.tryAcquire()).toBe(null);
      const waiting = mutex.acquire({ wait: '1m' });
      const { holders } = await mutex.inspect();
      expect(holders).toMatchObject([{ foreign: true, value: '\x1b'.repeat(1024) }]);
      await redis.del('lock:{big}');
      await (await waiting).release();
    });
  });

  describe('a hash of Redisson where the key of a mutex is', () => {
    beforeEach(() => redis.hset('lock:{r}', `${UUID}:57`, '1'));

    it('is a foreign holder with its type', async () => {
      await using locks = createLocks(url);
      const holder = { foreign: true, type: 'hash', value: '', permits: 1, leftMs: Infinity };
      expect((await locks.mutex('r').inspect()).holders).toEqual([holder]);
      const shown = await holdfast(url, 'show', 'r');
      expect(shown).toMatchObject({ code: 0, output: /another program, value \(hash\)/ });
      expect((await holdfast(url, 'ls')).output).toMatch(
        /^r +mutex +\(another program\) \(hash\) /m,
      );
      const { output } = await holdfast(url, 'ls', '--json');
      expect(JSON.parse(output).locks[0].holders).toMatchObject([{ foreign: true, type: 'hash' }]);
    });

    it('is refused by a mutex and by run, with advice', async () => {
      await using locks = createLocks(url);
      const advice = /WRONGTYPE.*perhaps Redisson.*Use another name, or delete the key/;
      await expect(locks.mutex('r').tryAcquire()).rejects.toThrow(advice);
      const environment = { HOLDFAST_STORE: url };
      const { code, errors } = await runCli(['run', 'r', '-n', '--', 'true'], { environment });
      expect({ code, errors }).toMatchObject({ code: 69, errors: advice });
    });

    it('is deleted by force', async () => {
      await using locks = createLocks(url);
      expect(await locks.mutex('r').forceRelease()).toBe(1);
      await redis.hset('lock:{r}', `${UUID}:57`, '1');
      const { code } = await holdfast(url, 'release', 'r', '--force', '--reason', 'test');
      expect([code, await redis.exists('lock:{r}')]).toEqual([0, 0]);
    });
  });

  it('shows an empty foreign value as such', async () => {
    await redis.set('lock:{e}', '');
    expect((await holdfast(url, 'show', 'e')).output).toContain('value (empty)');
    expect((await holdfast(url, 'ls', '--foreign')).output).toMatch(
      /^lock:\{e\} +token +\(empty\) /m,
    );
    const { errors } = await holdfast(url, 'run', 'e', '-n', '--', 'true');
    expect(errors).toContain('(value (empty))');
  });

  describe('check', () => {
    it('ends with 0 where every lock ends and the server is fit', async () => {
      await redis.set('lock.a', '1', 'EX', 100);
      await using locks = createLocks(url);
      await locks.mutex('a').acquire();
      const { code, output } = await holdfast(url, 'check');
      expect(output.replace(/by \d+ ms/, 'by 1 ms').split('\n')).toEqual([
        'ok       expiry    every lock key that matches lock* has a TTL',
        'ok       eviction  maxmemory-policy is noeviction',
        'ok       clock     differs from the clock of this machine by 1 ms at most',
        'ok       role      is a master',
        '',
      ]);
      expect(code).toBe(0);
    });

    it('warns of locks without a TTL, also of one that was persisted, and not of a list', async () => {
      const names = Array.from({ length: 12 }, (_, index) => `lock.${10 + index}`);
      await redis.mset(names.flatMap((name) => [name, '1']));
      await redis.rpush('lock.list', 'a');
      const { code, output } = await holdfast(url, 'check');
      expect(code).toBe(1);
      expect(output).toMatch(
        /^warning +expiry +12 lock keys without a TTL, by the pattern lock\*: lock\.10 \(token\), .*lock\.19 \(token\) and 2 more\. /,
      );
      await redis.set(`lock.${'1'.repeat(5000)}`, '1');
      expect((await holdfast(url, 'check', 'lock.11?*')).output).toMatch(
        /: lock\.1+…1+ \(token\)\. The/,
      );
      await using locks = createLocks(url);
      await locks.mutex('a').acquire();
      await redis.persist('lock:{a}');
      const json = JSON.parse((await holdfast(url, 'check', '--json', 'lock:*')).output);
      expect(json).toMatchObject({ ok: false, pattern: 'lock:*' });
      expect(json.endless).toMatchObject({
        truncated: false,
        keys: [{ name: 'lock:{a}', kind: 'holdfast' }],
      });
    });
  });
});

describe('check', () => {
  it('warns of eviction and of a replica on real Redis', async () => {
    const server = await startRealRedis('--maxmemory-policy', 'volatile-lru');
    onTestFinished(() => server.stop());
    const url = `redis://127.0.0.1:${server.port}`;
    expect((await findings(url)).get('eviction')).toMatchObject({
      state: 'warning',
      message: expect.stringMatching(/^maxmemory-policy is volatile-lru\. When it gets a limit/),
    });
    const redis = new Redis(server.port, server.host);
    await redis.call('CONFIG', 'SET', 'maxmemory', '100mb');
    await redis.call('REPLICAOF', '127.0.0.1', '1');
    redis.disconnect();
    const replica = await findings(url);
    expect(replica.get('eviction')!.message).toMatch(/When its memory is full/);
    expect(replica.get('role')).toMatchObject({ state: 'warning' });
  });

  it.each([
    { aheadS: 3600, state: 'warning', message: /^the server is (59m59s|1h00m) or more ahead of/ },
    { aheadS: -3600, state: 'warning', message: /^the server is (59m59s|1h00m) or more behind/ },
    { aheadS: 0, state: 'ok', message: /^differs .* by \d+ ms at most$/ },
  ])('compares clocks: the server is $aheadS s ahead', async ({ aheadS, state, message }) => {
    const url = await startShiftedServer(aheadS * 1000);
    const clock = (await findings(url)).get('clock')!;
    expect(clock).toMatchObject({ state, message: expect.stringMatching(message) });
  });

  it('reports checks that the server refuses as unknown', async () => {
    const server = await startRealRedis();
    onTestFinished(() => server.stop());
    const redis = new Redis(server.port, server.host);
    await redis.call('ACL', 'SETUSER', 'narrow', 'on', '>pw', '~*', '+@all', '-info');
    redis.disconnect();
    const narrow = `redis://narrow:pw@127.0.0.1:${server.port}`;
    expect((await findings(narrow)).get('eviction')).toMatchObject({
      state: 'unknown',
      message: expect.stringMatching(/^the server refuses INFO: ERR .*can't run this command/),
    });
    expect((await holdfast(narrow, 'check')).code).toBe(1);
  });

  describe('for a user without rights to some keys', () => {
    let server: RunningServer;
    let url: string;
    let redis: Redis;

    beforeAll(async () => {
      server = await startRealRedis();
      redis = new Redis(server.port, server.host);
      await redis.call('ACL', 'SETUSER', 'narrow', 'on', '>pw', '~lock.mine*', '+@all');
      url = `redis://narrow:pw@127.0.0.1:${server.port}`;
    });
    beforeEach(() => redis.flushall());
    afterAll(async () => {
      redis.disconnect();
      await server.stop();
    });

    it('says how many could not be checked', async () => {
      await redis.mset('lock.a', '1', 'lock.b', '1');
      const lack = /^2 keys that match lock\* cannot be read: ERR The user .*can't access/;
      expect((await findings(url)).get('expiry')).toMatchObject({
        state: 'unknown',
        message: expect.stringMatching(lack),
      });
      expect((await holdfast(url, 'check')).code).toBe(1);
      await redis.set('lock.mine', '1');
      expect((await findings(url)).get('expiry')).toMatchObject({
        state: 'warning',
        message: expect.stringMatching(
          /^1 lock key without a TTL.* 2 keys that match lock\* cannot/,
        ),
      });
      const { output } = await holdfast(url, 'check', '--json');
      expect(JSON.parse(output).endless).toMatchObject({
        unreadable: 2,
        keys: [{ name: 'lock.mine' }],
      });
    });

    it('says that the list of ls is not complete', async () => {
      await redis.set('lock:{a}', 'token');
      const listed = await holdfast(url, 'ls');
      expect(listed).toMatchObject({
        code: 0,
        output: '',
        errors: /list is not complete: 1 lock that matches \* cannot be read: ERR The user/,
      });
      expect(JSON.parse((await holdfast(url, 'ls', '--json')).output)).toMatchObject({
        unreadable: 1,
      });
    });

    it('says that the list of ls --foreign is not complete', async () => {
      await redis.mset('lock.a', '1', 'lock.mine', '1');
      const listed = await holdfast(url, 'ls', '--foreign', '-q');
      expect(listed).toMatchObject({ code: 0, output: 'lock.mine\n' });
      expect(listed.errors).toMatch(
        /list is not complete: 1 key that matches lock\* cannot be read/,
      );
      await redis.del('lock.mine');
      const none = await holdfast(url, 'ls', '--foreign');
      expect(none).toMatchObject({ output: '', errors: /not complete/ });
    });
  });

  it('warns of a node of a cluster without slots', async () => {
    const config = join(tmpdir(), `holdfast-nodes-${process.pid}.conf`);
    onTestFinished(() => rmSync(config, { force: true }));
    const server = await startRealRedis(
      '--cluster-enabled',
      'yes',
      '--cluster-config-file',
      config,
    );
    onTestFinished(() => server.stop());
    expect((await findings(`redis://127.0.0.1:${server.port}`)).get('role')).toMatchObject({
      state: 'warning',
      message: expect.stringMatching(/^the cluster is down \(cluster_state fail, 0 of 16384 slots/),
    });
  });

  it('finds nothing to check where no local server runs', async () => {
    const { code, output } = await runCli(['check'], {
      environment: { HOLDFAST_RUNTIME_DIR: '/nowhere/at/all' },
    });
    expect({ code, output }).toMatchObject({ code: 0, output: /No local server runs/ });
  });

  it('checks every master of a cluster', async () => {
    const cluster = await startRealCluster();
    onTestFinished(() => cluster.stop());
    const [first, ...others] = cluster.masters;
    const url = `redis://127.0.0.1:${first!.port}`;
    for (const { port } of [first!, ...others]) {
      const redis = new Redis(port, '127.0.0.1');
      const sets = Array.from({ length: 30 }, (_, index) => redis.set(`lock.${index}`, '1'));
      await Promise.allSettled(sets);
      redis.disconnect();
    }
    const listed = await holdfast(url, 'ls', '--foreign', '-q');
    expect(listed.output.trimEnd().split('\n')).toHaveLength(30);
    const { code, output } = await holdfast(url, 'check');
    expect(code).toBe(1);
    expect(output).toMatch(/30 lock keys without a TTL/);
    expect(output.match(/^ok +eviction +127\.0\.0\.1:\d+: /gm)).toHaveLength(
      cluster.masters.length,
    );
  });
});

/** A server whose clock is ahead. It answers each EVAL with the reply that the script expects. */
async function startShiftedServer(aheadMs: number): Promise<string> {
  const info = '*2\r\n$0\r\n\r\n$7\r\nrefused\r\n';
  const noKeys = '*0\r\n$1\r\n0\r\n$0\r\n\r\n';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      const text = String(data);
      const time = `${Date.now() + aheadMs}`;
      if (text.includes('CLUSTER\r\n')) socket.write('-ERR no cluster\r\n');
      else if (text.includes("'SCAN'"))
        socket.write(`*5\r\n$1\r\n0\r\n$13\r\n${time}\r\n${noKeys}`);
      else if (text.includes("'INFO'")) socket.write(`*3\r\n${info.repeat(3)}`);
      else socket.write(`$13\r\n${time}\r\n`);
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
