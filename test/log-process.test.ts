import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Client, parseAddress } from '../src/client/index.ts';
import { createEngine } from '../src/engine/index.ts';
import { createLocks } from '../src/index.ts';
import { bootOf, openLogFolder } from '../src/log/index.ts';
import { ErrorReply, type Reply } from '../src/resp/index.ts';
import { CliProcess, MAIN, runCli } from './cli-process.ts';
import { DurableServer } from './durable-server.ts';
import { elapse } from './lock-scene.ts';
import { PageClient } from './page-client.ts';

/** Longer runs: npm run crash. */
const KILLS = Number(process.env['HOLDFAST_KILLS'] ?? 24);
const RESTARTS = Number(process.env['HOLDFAST_RESTARTS'] ?? 8);
const WRITERS = 8;
const WRITE_MS = 40;

/** Adds one to two keys in each transaction, until the connection ends. */
class Writer {
  readonly #keys: readonly [string, string];
  #acknowledged = 0;

  constructor(number: number) {
    this.#keys = [`first${number}`, `second${number}`];
  }

  async run(url: string): Promise<void> {
    const client = new Client(parseAddress(url), { requestTimeoutMs: 20_000 });
    try {
      for (;;) {
        const commands = [['MULTI'], ...this.#keys.map((key) => ['INCR', key]), ['EXEC']];
        const replies = await Promise.all(commands.map((argv) => client.request(argv)));
        this.#acknowledged = (replies.at(-1) as number[])[0]!;
      }
    } catch {
      // The server was killed.
    } finally {
      await client.close();
    }
  }

  /** Fails if an acknowledged transaction is lost, or if half of one is there. */
  async check(client: Client): Promise<void> {
    const [first, second] = (await client.request(['MGET', ...this.#keys])) as string[];
    expect(second).toBe(first);
    const count = Number(first ?? 0);
    expect(count).toBeGreaterThanOrEqual(this.#acknowledged);
    expect(count).toBeLessThanOrEqual(this.#acknowledged + 1);
    this.#acknowledged = count;
  }

  get count(): number {
    return this.#acknowledged;
  }
}

describe.each(['always', 'everysec'])('appendfsync %s', { concurrent: true }, (mode) => {
  const kills = Math.ceil(KILLS / 2);

  it(`${kills} × kill -9 with ${WRITERS} writers: no acknowledged transaction is lost`, {
    timeout: 60_000 + kills * 5000,
  }, async () => {
    await using server = new DurableServer(['--appendfsync', mode]);
    const writers = Array.from({ length: WRITERS }, (_, number) => new Writer(number));
    for (let kill = 0; kill < kills; kill++) {
      await server.start();
      const client = new Client(parseAddress(server.url));
      for (const writer of writers) await writer.check(client);
      await client.request(['CONFIG', 'SET', 'auto-aof-rewrite-min-size', '50000']);
      await client.close();
      const running = writers.map((writer) => writer.run(server.url));
      await elapse(WRITE_MS);
      await server.kill(kill % 10 === 9 ? 'SIGTERM' : 'SIGKILL');
      await Promise.all(running);
    }
    await server.start();
    const client = new Client(parseAddress(server.url));
    for (const writer of writers) await writer.check(client);
    expect(writers.every(({ count }) => count > kills)).toBe(true);
    expect(await client.request(['INFO', 'persistence'])).toContain('aof_last_write_status:ok');
    await client.close();
    await server.kill('SIGTERM');
    const checked = await runCli(['check', '--dir', server.dir]);
    expect(checked).toMatchObject({ code: 0, errors: '' });
    execFileSync('redis-check-aof', [join(server.dir, 'appendonlydir', 'appendonly.aof.manifest')]);
  });

  it(`two clients of the library never hold a mutex together over ${RESTARTS / 2} restarts`, {
    timeout: 60_000 + RESTARTS * 5000,
  }, async () => {
    await using server = new DurableServer(['--appendfsync', mode]);
    await server.start();
    const hold = { holders: 0, overlaps: 0, grants: 0, lastFence: 0n };
    const stop = new AbortController();
    const workers = [1, 2, 3].map(() => holdInTurn(server.url, hold, stop.signal));
    for (let restart = 0; restart < RESTARTS / 2; restart++) {
      await elapse(700);
      await server.kill();
      await server.start();
    }
    await elapse(300);
    stop.abort();
    await Promise.all(workers);
    expect(hold).toMatchObject({ holders: 0, overlaps: 0 });
    // On a loaded machine a restart takes longer than a lease, and few locks change hands.
    expect(hold.grants).toBeGreaterThanOrEqual(2);
  });
});

interface Hold {
  holders: number;
  overlaps: number;
  grants: number;
  lastFence: bigint;
}

/** Takes the mutex again and again. A holder counts until it releases, or until its signal says that the lease is lost. */
async function holdInTurn(url: string, hold: Hold, stop: AbortSignal): Promise<void> {
  const locks = createLocks(url);
  while (!stop.aborted) {
    try {
      const lease = await locks.mutex('job').acquire({ lease: '1s', wait: '2s', signal: stop });
      expect(BigInt(lease.fence)).toBeGreaterThan(hold.lastFence);
      hold.lastFence = BigInt(lease.fence);
      hold.grants++;
      if (++hold.holders > 1) hold.overlaps++;
      let isCounted = true;
      const end = (): void => {
        if (isCounted) hold.holders--;
        isCounted = false;
      };
      lease.signal.addEventListener('abort', end, { once: true });
      await elapse(50 + Math.random() * 200);
      end();
      await lease.release().catch(() => {});
    } catch {
      // The server is down, or the mutex is held for longer than the wait.
    }
  }
  await locks.close();
}

it('with always, no reply leaves before the sync that covers it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'holdfast-log-'));
  const trace = join(dir, 'trace');
  const serve = [MAIN, 'serve', '--port', '0', '--appendonly', 'yes', '--dir', dir];
  const flags = ['-f', '-s', '64', '-e', 'trace=write,writev,fdatasync', '-o', trace];
  await using server = new CliProcess('strace', [
    ...flags,
    ...[process.execPath, ...serve, '--appendfsync', 'always'],
  ]);
  const [, port] = await server.waitFor(/listens on 127\.0\.0\.1:(\d+)/);
  const client = new Client(parseAddress(`redis://127.0.0.1:${port}`));
  const count = 50;
  for (let key = 0; key < count; key++) await client.request(['SETNX', `key${key}`, 'value']);
  // A signal would end strace, and leave the server.
  await client.request(['SHUTDOWN']).catch(() => {});
  await client.close();
  await server.ended();
  const states = statesIn(readFileSync(trace, 'latin1'));
  rmSync(dir, { recursive: true });
  expect(states.replies).toBe(count);
  expect(states.early).toBe(0);
});

/** Counts the replies `:1`, and those that left while the last frame of the log was not synced. */
function statesIn(trace: string): { replies: number; early: number } {
  let isSynced = true;
  const found = { replies: 0, early: 0 };
  for (const line of trace.split('\n')) {
    if (line.includes('"#HF:d')) isSynced = false;
    else if (/fdatasync(?:\(\d+\)| resumed>\)) += 0/.test(line)) isSynced = true;
    else if (/write\(\d+, ":1\\r\\n"/.test(line)) {
      found.replies++;
      if (!isSynced) found.early++;
    }
  }
  return found;
}

const folder = mkdtempSync(join(tmpdir(), 'holdfast-full-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]).status === 0;

// Mounting a small file system needs root.
it.skipIf(!mounted)('on a full disk refuses writes, serves reads and the page', async () => {
  try {
    await using server = new DurableServer(['--page-port', 'auto'], join(folder, 'data'));
    await server.start();
    const client = new Client(parseAddress(server.url), { requestTimeoutMs: 20_000 });
    const filler = join(folder, 'filler');
    writeFileSync(filler, Buffer.alloc(900_000));
    const locks = createLocks(server.url);
    await locks.mutex('held').acquire({ lease: '1m' });
    const acknowledged = await writeUntilRefused(client);
    expect(await client.request(['GET', 'key0'])).toHaveLength(10_000);
    const page = await PageClient.open(/Page: (http:\S+)/.exec(server.text)![1]!);
    using stream = await page.stream();
    expect((await stream.next('locks')).locks).toMatchObject([{ name: 'held', holderCount: 1 }]);
    rmSync(filler);
    await untilAccepted(client);
    await client.close();
    await locks.close();
    await server.kill();
    await server.start();
    const after = new Client(parseAddress(server.url));
    for (const key of acknowledged) expect(await after.request(['EXISTS', key])).toBe(1);
    await after.close();
  } finally {
    spawnSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  }
});

/** Writes from connections of its own, since the reply of the write that fails waits for space. */
async function writeUntilRefused(reader: Client): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let at = 0; at < 100; at++) {
    const key = `key${at}`;
    const writer = new Client(reader.address, { requestTimeoutMs: 500 });
    const reply = await writer.request(['SET', key, 'x'.repeat(10_000)]).catch(() => 'no reply');
    await writer.close();
    if (reply instanceof ErrorReply) {
      expect(reply.message).toMatch(/^MISCONF .*no space left/i);
      return acknowledged;
    }
    if (reply !== 'no reply') acknowledged.push(key);
  }
  throw new Error('the disk did not become full');
}

async function untilAccepted(client: Client): Promise<void> {
  let reply: Reply;
  do {
    await elapse(100);
    reply = await client.request(['SET', 'later', 'x']);
  } while (reply instanceof ErrorReply);
}

it('a start that SIGTERM interrupts while the data is loaded ends with 0, and the next one has the data', async () => {
  await using server = new DurableServer();
  await server.start();
  const value = 'x'.repeat(1 << 20);
  const client = new Client(parseAddress(server.url));
  for (let key = 0; key < 100; key++) await client.request(['SET', `key${key}`, value]);
  await client.close();
  await server.kill('SIGTERM');
  const args = ['serve', '--port', '0', '--appendonly', 'yes', '--dir', server.dir];
  await using interrupted = CliProcess.node(args);
  const lock = join(server.dir, 'server.lock');
  // The server loads after it has locked the folder.
  while (!existsSync(lock)) await elapse(1);
  interrupted.child.kill('SIGTERM');
  expect(await interrupted.ended()).toBe(0);
  await server.start();
  const next = new Client(parseAddress(server.url));
  expect(await next.request(['DBSIZE'])).toBe(100);
  await next.close();
});

it('refuses writes after a crash of the machine, also if the server is killed and restarted meanwhile', async () => {
  await using server = new DurableServer(['--restart-grace', '30']);
  await server.start();
  await server.kill('SIGTERM');
  const engine = createEngine();
  const boot = bootOf('2'.repeat(32), () => 1_000_000);
  const opened = await openLogFolder(server.dir, { engine, boot });
  await opened.close();
  engine.close();
  // Without its last frame, the file is that of a server that has not ended in order.
  const name = lastIncrement(server.dir);
  truncateSync(name, statSync(name).size - 81);
  for (const signal of ['SIGKILL', 'SIGTERM', 'SIGKILL'] as const) {
    await server.start();
    const client = new Client(parseAddress(server.url));
    expect(await client.request(['SET', 'key', 'x'])).toMatchObject({
      message: expect.stringContaining('LOADING'),
    });
    await client.close();
    await server.kill(signal);
  }
});

function lastIncrement(dir: string): string {
  const folder = join(dir, 'appendonlydir');
  const names = readdirSync(folder).filter((name) => name.endsWith('.incr.aof'));
  return join(folder, names.sort().at(-1)!);
}

it('a second server is kept out of the folder', async () => {
  await using server = new DurableServer();
  await server.start();
  const args = ['serve', '--port', '0', '--appendonly', 'yes', '--dir', server.dir];
  await using second = CliProcess.node(args);
  expect(await second.ended()).toBe(1);
  expect(second.text).toContain('another server uses the folder');
});
