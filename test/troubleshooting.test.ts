import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { createLocks } from '../src/index.ts';
import { issueCertificate } from './certificate.ts';
import { ROOT } from './cli-process.ts';
import { startRealCluster } from './real-cluster.ts';
import { freePort, spawnRealRedis, startRealRedis, stopProcess } from './real-redis.ts';
import { startRealSentinel } from './real-sentinel.ts';

const page = readFileSync(join(ROOT, 'docs/troubleshooting.md'), 'utf8');

/** The code of the first cells of the tables whose first head is `head`. */
function quotes(head: string): string[] {
  const tables = page.split(/\n\n+/).filter((part) => part.startsWith(`| ${head} |`));
  const rows = tables.flatMap((table) => table.split('\n').slice(2));
  return rows.flatMap((row) => {
    const cell = row.split(/(?<!\\)\|/)[1] ?? '';
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, quote]) => quote!);
  });
}

/** Strings of the source as they are shown: joined where they are added, `…` for each variable part. */
function shown(text: string): string {
  return text
    .replaceAll(/\$\{[^{}]*\}/g, '…')
    .replaceAll(/['`"]\s*\+\s*['`"]/g, '')
    .replaceAll(/\\(['`"])/g, '$1');
}

const source = execFileSync('git', ['ls-files', 'src'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
  .map((path) => readFileSync(join(ROOT, path), 'utf8'));

describe('docs/troubleshooting.md', () => {
  const messages = source.map(shown);

  it.each(quotes('message'))('quotes a message that is in the source: %s', (quote) => {
    expect(messages.some((text) => text.includes(quote))).toBe(true);
  });

  it('quotes messages and replies', () => {
    expect(quotes('message').length).toBeGreaterThan(40);
    expect(quotes('reply').length).toBeGreaterThan(10);
  });

  it.each([
    ['LockErrorCode', '`code`'],
    ['LossReason', '`reason`'],
  ])('names every %s', (type, column) => {
    const members = source.join('').match(new RegExp(`type ${type} =([^;]+);`))?.[1];
    const names = [...members!.matchAll(/'([\w-]+)'/g)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(2);
    expect(page).toContain(column);
    expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
  });
});

/** The message that the caller gets when it requests a lock at this address. */
async function messageAt(address: string): Promise<string> {
  const locks = createLocks(address as `redis://${string}`);
  try {
    await locks.mutex('a').tryAcquire();
    return 'granted';
  } catch (error) {
    return (error as Error).message;
  } finally {
    await locks.close();
  }
}

const at = (port: number): string => `redis://127.0.0.1:${port}`;

/** A redis-server with these options, for as long as `use` takes. */
async function onRedis(
  options: readonly string[],
  use: (port: number) => Promise<string>,
): Promise<string> {
  const redis = await startRealRedis(...options);
  try {
    return await use(redis.port);
  } finally {
    await redis.stop();
  }
}

/** After a command of the operator. */
function afterCommand(command: readonly [string, ...string[]], user = ''): Promise<string> {
  return onRedis([], async (port) => {
    const operator = new Redis(port, '127.0.0.1');
    await operator.call(...command);
    operator.disconnect();
    return messageAt(`redis://${user}127.0.0.1:${port}`);
  });
}

/** A redis-server that speaks TLS only. */
async function onTls(use: (port: number) => Promise<string>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-trouble-'));
  const { certFile, keyFile } = issueCertificate(folder);
  const port = await freePort();
  const place = ['--port', '0', '--tls-port', `${port}`, '--bind', '127.0.0.1'];
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile];
  const trust = ['--tls-ca-cert-file', certFile, '--tls-auth-clients', 'no'];
  const redis = await spawnRealRedis(...place, ...files, ...trust);
  try {
    return await use(port);
  } finally {
    await stopProcess(redis);
    rmSync(folder, { recursive: true });
  }
}

/** How each reply of the page comes about. */
const CAUSES: Readonly<Record<string, () => Promise<string>>> = {
  ECONNREFUSED: async () => messageAt(at(await freePort())),
  ENOENT: () => messageAt('unix:/nowhere/holdfast.sock'),
  DEPTH_ZERO_SELF_SIGNED_CERT: () => onTls((port) => messageAt(`rediss://127.0.0.1:${port}`)),
  'was lost before the answer': () => onTls((port) => messageAt(at(port))),
  NOAUTH: () => onRedis(['--requirepass', 'secret'], (port) => messageAt(at(port))),
  WRONGPASS: () =>
    onRedis(['--requirepass', 'secret'], (port) => messageAt(`redis://:wrong@127.0.0.1:${port}`)),
  'ERR AUTH': () => onRedis([], (port) => messageAt(`redis://:secret@127.0.0.1:${port}`)),
  NOPERM: () => afterCommand(['ACL', 'SETUSER', 'app', 'on', '>pw', '~*', '+get'], 'app:pw@'),
  'DB index': () => onRedis([], (port) => messageAt(`${at(port)}/99`)),
  READONLY: () => onRedis(['--replicaof', '127.0.0.1 1'], (port) => messageAt(at(port))),
  MOVED: async () => {
    const cluster = await startRealCluster();
    const replies = await Promise.all(cluster.masters.map(({ port }) => messageAt(at(port))));
    await cluster.stop();
    return replies.find((reply) => reply !== 'granted')!;
  },
  CLUSTERDOWN: async () => {
    const bus = ['--cluster-port', `${await freePort()}`];
    return onRedis(['--cluster-enabled', 'yes', ...bus], (port) => messageAt(at(port)));
  },
  'unknown command': async () => {
    const sentinel = await startRealSentinel();
    const reply = await messageAt(at(sentinel.sentinelPorts[0]!));
    await sentinel.stop();
    return reply;
  },
  OOM: () => afterCommand(['CONFIG', 'SET', 'maxmemory', '1']),
  NOREPLICAS: () => afterCommand(['CONFIG', 'SET', 'min-replicas-to-write', '1']),
};

describe('the replies of docs/troubleshooting.md', () => {
  it.each(quotes('reply'))('are caused as it says: %s', async (quote) => {
    const causes = Object.entries(CAUSES).filter(([name]) => quote.includes(name));
    expect(causes).toHaveLength(1);
    const pattern = quote.split('…').map(escaped).join('.+');
    expect(await causes[0]![1]()).toMatch(new RegExp(pattern));
  });
});

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
