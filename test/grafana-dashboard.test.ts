import diagnostics from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLocks, type Locks } from '../src/index.ts';
import { ProcessMetrics } from '../src/page/process-metrics.ts';
import type { PageLock } from '../src/page/protocol.ts';
import { ServerMetrics } from '../src/page/server-metrics.ts';
import { readHistory } from '../src/stores/index.ts';
import { ROOT } from './cli-process.ts';
import { DurableServer } from './durable-server.ts';

interface Dashboard {
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly { readonly definition?: string }[] };
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly type: string;
    readonly gridPos: {
      readonly h: number;
      readonly w: number;
      readonly x: number;
      readonly y: number;
    };
    readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

const dashboard = JSON.parse(
  readFileSync(join(ROOT, 'deploy/grafana-dashboard.json'), 'utf8'),
) as Dashboard;
const targets = dashboard.panels.flatMap(({ targets = [] }) => targets);

const server = new DurableServer();
/** By the name of a sample, the names of its labels: of the server, and of a process. */
let served: ReadonlyMap<string, ReadonlySet<string>>;
let ofProcess: ReadonlyMap<string, ReadonlySet<string>>;
let serverText: string;

beforeAll(async () => {
  await server.start();
  await using locks = createLocks(server.url);
  const process = new ProcessMetrics();
  const redis = new Redis(server.url);
  const held = await useLocks(locks);
  const metrics = new ServerMetrics();
  metrics.add(await events(redis));
  serverText = metrics.text(await redis.info('everything'), [HELD]);
  served = samplesOf(serverText);
  ofProcess = samplesOf(process.text());
  await held.release();
  process.close();
  redis.disconnect();
});

afterAll(() => server[Symbol.asyncDispose]());

/** Leaves one lease that is held. */
async function useLocks(locks: Locks): Promise<{ release(): Promise<unknown> }> {
  const lock = locks.mutex('order:42');
  const renewed = renewal();
  const first = await lock.acquire({ lease: 600 });
  const next = lock.acquire();
  while ((await lock.inspect()).waiters.length === 0);
  await expect(lock.acquire({ wait: 50 })).rejects.toThrow();
  await renewed;
  await first.release();
  await next;
  await lock.forceRelease();
  return locks.semaphore('pool', 2).acquire();
}

function renewal(): Promise<void> {
  return new Promise((resolve) => {
    const listener = () => {
      diagnostics.unsubscribe('holdfast:renew', listener);
      resolve();
    };
    diagnostics.subscribe('holdfast:renew', listener);
  });
}

/** What the server of the page makes of the history. */
async function events(redis: Redis): Promise<Parameters<ServerMetrics['add']>[0]> {
  const send = ([name, ...args]: readonly string[]) => redis.call(name!, ...args);
  const history = await readHistory(send, { count: 1000 });
  return history.map(({ nameBytes, fence, heldMs, waitedMs, type, ...event }) => ({
    ...event,
    type: type as 'granted',
    lockId: nameBytes,
    name: nameBytes,
    client: null,
    fence: fence ?? null,
    heldMs: heldMs ?? null,
    waitedMs: waitedMs ?? null,
  }));
}

const HELD: PageLock = {
  id: 'pool',
  kind: 'semaphore',
  name: 'pool',
  holderCount: 1,
  waiterCount: 0,
  holders: [],
  waiters: [],
};

function samplesOf(text: string): Map<string, Set<string>> {
  const samples = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^([a-z_]+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const known = samples.get(name) ?? new Set();
    for (const [, label] of labels.matchAll(/(\w+)="/g)) known.add(label!);
    samples.set(name, known);
  }
  return samples;
}

/** Prometheus adds them to every sample. */
const TARGET_LABELS = new Set(['job', 'instance']);

/** The metrics of a query, and the labels that it uses. */
function usedBy(expr: string): { metrics: string[]; labels: string[] } {
  const metrics = [...expr.matchAll(/\bholdfast_\w+(?=[{[,)]|$)/g)]
    .map(([name]) => name)
    .filter((name) => new RegExp(`${name}\\{`).test(expr));
  const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names]) => names!.split(','));
  const matched = [...expr.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, name]) => name!);
  const labels = [...groups, ...matched].map((name) => name.trim());
  return { metrics, labels: labels.filter((label) => !TARGET_LABELS.has(label)) };
}

it('is a dashboard of Grafana 10 or later with a variable for the data source', () => {
  expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(38);
  expect(dashboard.templating.list[0]).toMatchObject({ name: 'datasource', type: 'datasource' });
  const ids = dashboard.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(targets.length).toBeGreaterThan(25);
});

it('has no two panels in one place', () => {
  const cells = dashboard.panels.flatMap(({ gridPos: { h, w, x, y } }) => {
    return Array.from({ length: h * w }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`);
  });
  expect(new Set(cells).size).toBe(cells.length);
});

it.each(targets.map(({ expr }) => expr))('finds metrics and labels of %s', (expr) => {
  const { metrics, labels } = usedBy(expr);
  expect(metrics).toHaveLength(1);
  const known = served.get(metrics[0]!) ?? ofProcess.get(metrics[0]!);
  expect(known, metrics[0]).toBeDefined();
  for (const label of labels) expect([...known!], metrics[0]).toContain(label);
});

it('names in legends only labels of the query', () => {
  for (const { expr, legendFormat } of targets) {
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      if (!TARGET_LABELS.has(label!)) expect(usedBy(expr).labels).toContain(label);
    }
  }
});

it('fills its variables from metrics that exist', () => {
  const names = dashboard.templating.list.flatMap(({ definition = '' }) => {
    return [...definition.matchAll(/holdfast_\w+/g)].map(([name]) => name);
  });
  expect(names.length).toBe(2);
  for (const name of names) expect([...served.keys()]).toContain(name);
});

it('gets the numbers of the locks from a real server', () => {
  const lines = serverText.split('\n');
  for (const line of [
    'holdfast_lock_grants_total{how="granted"} 2',
    'holdfast_lock_grants_total{how="handed-over"} 1',
    'holdfast_lock_contentions_total 2',
    'holdfast_lock_failures_total{error_type="left"} 1',
    'holdfast_lock_losses_total{holdfast_lock_loss_reason="forced"} 1',
    'holdfast_lock_forced_releases_total 1',
    'holdfast_lock_active_leases{holdfast_lock_kind="semaphore"} 1',
    'holdfast_lock_group_grants_total{group="order:*"} 2',
    'holdfast_lock_group_waits_total{group="order:*"} 2',
  ]) {
    expect(lines).toContain(line);
  }
  expect(serverText).toMatch(/^holdfast_server_memory_limit_bytes [1-9]\d+$/m);
  expect(serverText).toMatch(/^holdfast_log_sync_duration_seconds_count \d+$/m);
  expect(serverText).not.toContain('order:42');
});
