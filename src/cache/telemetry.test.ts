import diagnostics from 'node:diagnostics_channel';
import { metrics, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { Locks, memoryStore } from '../lock/index.ts';
import { setCacheBackend } from './backend.ts';
import { type Cache, createCache } from './cache.ts';
import { memoryCacheStore } from './memory-cache-store.ts';
import { observeCaches } from './telemetry.ts';

const spans = new InMemorySpanExporter();
const reader = new PeriodicExportingMetricReader({
  exporter: new InMemoryMetricExporter(AggregationTemporality.DELTA),
  exportIntervalMillis: 2 ** 30,
});
let clock: VirtualClock;
let locks: Locks;
let cache: Cache;
let isHeardWithoutSdk = true;

/** Everything that can happen without time has happened. */
const turn = (): Promise<void> => new Promise(setImmediate);

beforeAll(async () => {
  await observeCaches();
  isHeardWithoutSdk = diagnostics.hasSubscribers('holdfast:cache:hit');
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  );
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
});
beforeEach(async () => {
  clock = virtualClock();
  locks = new Locks({ store: memoryStore(clock), clock });
  const backend = { store: memoryCacheStore(clock), clock, random: seededRandom(1) };
  setCacheBackend(locks, () => backend);
  onTestFinished(() => locks.close());
  cache = createCache({ locks, fresh: '1s', stale: '1s', beta: 0 });
  await turn();
  await reader.collect();
  spans.reset();
});
afterAll(() => {
  trace.disable();
  metrics.disable();
});

/** What was measured since the last time: by metric and attributes the sum, or how many and their sum. */
async function measured(): Promise<Record<string, unknown>> {
  const { resourceMetrics } = await reader.collect();
  const rows = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  const ours = rows.filter(({ descriptor }) => descriptor.name.startsWith('holdfast.cache.'));
  return Object.fromEntries(
    ours.flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => [
        [descriptor.name.replace('holdfast.cache.', ''), ...Object.values(attributes)].join(' '),
        typeof value === 'number' ? value : [(value as Histogram).count, (value as Histogram).sum],
      ]),
    ),
  );
}

it('records nothing without an SDK', () => {
  expect(isHeardWithoutSdk).toBe(false);
});

it('counts hits, stale hits and misses, and measures loads and waits', async () => {
  const slowly = async (): Promise<number> => {
    clock.advance(250);
    return 1;
  };
  await cache.get('a', {}, slowly);
  await cache.get('a', {}, slowly);
  expect(await measured()).toEqual({
    'requests miss': 1,
    'requests hit': 1,
    loads: 1,
    'load.duration kept': [1, 0.25],
    'wait.duration value': [1, 0.25],
  });
  clock.advance(1500);
  await cache.get('a', {}, slowly);
  await turn();
  expect(await measured()).toEqual({
    'requests stale': 1,
    loads: 1,
    'load.duration kept': [1, 0.25],
  });
});

it('counts failures, values that were set, and deleted keys and tags', async () => {
  const failing = cache.get('a', {}, () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  await cache.delete(['a', 'b']);
  await cache.invalidate('red');
  await cache.set('a', 1);
  expect(await measured()).toEqual({
    'requests miss': 1,
    loads: 1,
    'load.duration error': [1, 0],
    'wait.duration error': [1, 0],
    sets: 1,
    'invalidations key': 2,
    'invalidations tag': 1,
  });
});

it('counts waits for the load of another process, and lost leases', async () => {
  const other = createCache({ locks, fresh: '1s' });
  let end = (_value: number): void => {};
  const held = new Promise<number>((resolve) => {
    end = resolve;
  });
  const asked = [cache, other].map((each) => each.get('a', { maxLoad: 1000 }, () => held));
  await turn();
  expect(await measured()).toEqual({ 'requests miss': 2, loads: 1, waits: 1 });
  clock.advance(1000);
  await turn();
  end(2);
  expect(await Promise.all(asked)).toEqual([2, 2]);
  expect(await measured()).toMatchObject({ losses: 1, 'wait.duration value': [2, 2] });
});

it('writes a span for each load and each wait, with the key', async () => {
  await cache.get('a', {}, () => 1);
  await cache.get('b', {}, () => Promise.reject(new Error('no'))).catch(String);
  const written = spans.getFinishedSpans().filter(({ name }) => name.startsWith('holdfast cache'));
  const told = written.map(({ name, attributes, status }) => [
    name,
    attributes['holdfast.cache.key'],
    attributes['holdfast.cache.outcome'],
    status.code,
  ]);
  expect(told).toEqual([
    ['holdfast cache load', 'a', 'kept', SpanStatusCode.UNSET],
    ['holdfast cache wait', 'a', 'value', SpanStatusCode.UNSET],
    ['holdfast cache load', 'b', 'error', SpanStatusCode.ERROR],
    ['holdfast cache wait', 'b', 'error', SpanStatusCode.ERROR],
  ]);
});
