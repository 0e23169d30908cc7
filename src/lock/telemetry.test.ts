import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import {
  type Context,
  type ContextManager,
  context,
  createContextKey,
  metrics,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
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
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { elapse, settle } from '../../test/virtual-time.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { type LockEvents, Locks } from './index.ts';
import { memoryStore } from './memory-store.ts';
import { observeLocks } from './telemetry.ts';

const NAMES = [
  'acquire',
  'wait',
  'grant',
  'fail',
  'renew',
  'lose',
  'release',
  'transfer',
  'force',
] as const satisfies readonly (keyof LockEvents)[];

/** Keeps the context of OpenTelemetry in an AsyncLocalStorage, as its package for Node does. */
class AsyncContextManager implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    callback: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => callback.apply(self, args));
  }
  bind<T>(_context: Context, target: T): T {
    return target;
  }
  enable(): this {
    return this;
  }
  disable(): this {
    return this;
  }
}

let clock: VirtualClock;
let locks: Locks;

beforeEach(() => {
  clock = virtualClock();
  locks = new Locks({ store: memoryStore(clock), clock, random: seededRandom(1) });
});

afterEach(() => locks.close());

/** Acquisitions and leases that begin and end in every way, each at least once. */
async function live(): Promise<void> {
  const held = await locks.mutex('a').acquire({ lease: '3s' });
  await locks.mutex('a').tryAcquire();
  await locks.all(['a', 'b']).tryAcquire();
  await locks.mutex('a').acquire({ wait: 0 }).catch(String);
  const controller = new AbortController();
  const fates = [
    locks.mutex('a').acquire({ wait: '1s' }),
    locks.mutex('a').acquire({ signal: controller.signal }),
    locks.all(['a', 'b', 'c']).acquire({ wait: '1s' }),
    locks.mutex('a').acquire({ wait: '10s', lease: '2s', renew: false }),
  ].map((lease) => lease.catch(String));
  await settle();
  controller.abort();
  await elapse(clock, 1500);
  const text = held.transfer();
  const adopted = await locks.adopt(text);
  await locks.adopt(text).catch(String);
  await adopted.release();
  await Promise.all(fates);
  await elapse(clock, 2500);
  await locks.mutex('s').run(() => locks.mutex('s').run(() => {}, { reentrant: true }));
  await locks.all(['b', 'c']).run(() => {});
  await locks.readWrite('r').write.acquire({ maxHold: '1s' });
  await elapse(clock, 1500);
  const permits = locks.semaphore('n', 3);
  const forced = await permits.acquire();
  await permits.forceRelease();
  await permits.acquire();
  expect(await forced.release()).toBe('not-held');
  await locks.mutex('until close').acquire();
  const waiting = locks.mutex('until close').acquire().catch(String);
  await settle();
  await locks.close();
  await waiting;
}

describe('events', () => {
  it('report the end of every acquisition and of every lease once', async () => {
    const open = { acquisitions: new Set<string>(), holds: new Set<string>() };
    const published = new Set<string>();
    const ways: Partial<Record<keyof LockEvents, (key: string) => boolean>> = {
      acquire: (key) => !open.acquisitions.has(key) && !!open.acquisitions.add(key),
      fail: (key) => open.acquisitions.delete(key),
      grant: (key) => open.acquisitions.delete(key) && !!open.holds.add(key),
      lose: (key) => open.holds.delete(key),
      release: (key) => open.holds.delete(key),
      transfer: (key) => open.holds.delete(key),
    };
    const stops = NAMES.map((name) => {
      const listener = (message: unknown): void => {
        const event = message as LockEvents['fail'];
        published.add(name === 'fail' ? `fail ${event.code}` : name);
        const isRight = ways[name]?.(`${event.owner} ${event.lock}`) ?? true;
        expect(isRight, `${name} ${event.lock}`).toBe(true);
      };
      diagnostics.subscribe(`holdfast:${name}`, listener);
      return () => diagnostics.unsubscribe(`holdfast:${name}`, listener);
    });
    await live();
    for (const stop of stops) stop();
    expect([...open.acquisitions, ...open.holds]).toEqual([]);
    expect([...published].sort()).toEqual(
      [
        ...NAMES.filter((name) => name !== 'fail'),
        ...['aborted', 'busy', 'not-held', 'timeout'].map((code) => `fail ${code}`),
      ].sort(),
    );
  });
});

describe('a program without an SDK', () => {
  it('has no subscription, so that no event is created', async () => {
    observeLocks();
    await settle();
    expect(NAMES.filter((name) => diagnostics.hasSubscribers(`holdfast:${name}`))).toEqual([]);
  });
});

describe('OpenTelemetry', () => {
  const spans = new InMemorySpanExporter();
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.DELTA),
    exportIntervalMillis: 2 ** 30,
  });
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });

  beforeAll(() => {
    trace.setGlobalTracerProvider(tracer);
    context.setGlobalContextManager(new AsyncContextManager());
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  });

  beforeEach(async () => {
    await reader.collect();
    spans.reset();
  });

  afterAll(() => {
    trace.disable();
    context.disable();
    metrics.disable();
  });

  /** The measurements since the last call, by metric and attributes: the sum, or for a histogram count and sum. */
  async function measured(): Promise<Record<string, unknown>> {
    const { resourceMetrics } = await reader.collect();
    const rows = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return Object.fromEntries(
      rows.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => [
          [descriptor.name.replace('holdfast.lock.', ''), ...Object.values(attributes)].join(' '),
          typeof value === 'number'
            ? value
            : [(value as Histogram).count, (value as Histogram).sum],
        ]),
      ),
    );
  }

  function named(name: string): ReadableSpan[] {
    return spans.getFinishedSpans().filter((span) => span.name === `holdfast ${name}`);
  }

  /** The id of the parent of a span. */
  const parentOf = (span: ReadableSpan | undefined): string | undefined =>
    span?.parentSpanContext?.spanId;
  const idOf = (span: ReadableSpan | undefined): string | undefined => span?.spanContext().spanId;

  it('sets the name and the version of the package as scope of spans and metrics', async () => {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { name, version } = JSON.parse(text);
    await locks.mutex('a').run(() => {});
    for (const span of [...named('acquire'), ...named('hold')]) {
      expect(span.instrumentationScope).toMatchObject({ name, version });
    }
    const { resourceMetrics } = await reader.collect();
    expect(resourceMetrics.scopeMetrics.map(({ scope }) => scope)).toEqual([
      expect.objectContaining({ name, version }),
    ]);
  });

  it('puts spans of the callback of run() under the hold span, at any depth', async () => {
    const ours = tracer.getTracer('test');
    const request = ours.startSpan('request');
    await context.with(trace.setSpan(context.active(), request), () =>
      locks.mutex('a').run(async () => {
        ours.startSpan('before').end();
        await settle();
        await locks.mutex('b').run(() => ours.startSpan('inside').end());
        ours.startSpan('after').end();
      }),
    );
    const spanOf = (name: string): ReadableSpan | undefined =>
      spans.getFinishedSpans().find((span) => span.name === name);
    const holdOf = (lock: string): ReadableSpan | undefined =>
      named('hold').find(({ attributes }) => attributes['holdfast.lock.name'] === lock);
    expect(parentOf(holdOf('a'))).toBe(request.spanContext().spanId);
    expect(parentOf(spanOf('before'))).toBe(idOf(holdOf('a')));
    expect(parentOf(spanOf('after'))).toBe(idOf(holdOf('a')));
    expect(parentOf(holdOf('b'))).toBe(idOf(holdOf('a')));
    expect(parentOf(named('acquire')[1])).toBe(idOf(holdOf('a')));
    expect(parentOf(spanOf('inside'))).toBe(idOf(holdOf('b')));
  });

  it('puts spans of a callback that waited, shares a lease or holds several locks under a hold span', async () => {
    const ours = tracer.getTracer('test');
    const work = (): void => ours.startSpan('work').end();
    const lease = await locks.mutex('a').acquire();
    const waiting = locks.mutex('a').run(work);
    await settle();
    await lease.release();
    await waiting;
    await locks.all(['a', 'b']).run(work);
    await locks.mutex('a').run(() => locks.mutex('a').run(work, { reentrant: true }));
    const works = spans.getFinishedSpans().filter(({ name }) => name === 'work');
    const holds = new Set(named('hold').map(idOf));
    expect(works.map((span) => holds.has(parentOf(span)))).toEqual([true, true, true]);
  });

  it("keeps the caller's context around the hold span in the callback", async () => {
    const key = createContextKey('tenant');
    const inside = context.active().setValue(key, 'acme');
    const seen = await context.with(inside, () =>
      locks.mutex('a').run(() => context.active().getValue(key)),
    );
    expect(seen).toBe('acme');
    expect(context.active().getValue(key)).toBe(undefined);
  });

  it('puts spans of a leader under the hold span of its term', async () => {
    const election = locks.elect('job', () => tracer.getTracer('test').startSpan('led').end());
    await settle();
    await election.stop();
    const led = spans.getFinishedSpans().find(({ name }) => name === 'led');
    expect(parentOf(led)).toBe(idOf(named('hold')[0]));
  });

  it('measures how long callers wait for locks and hold them', async () => {
    const first = await locks.mutex('a').acquire();
    const waiting = locks.mutex('a').acquire();
    await elapse(clock, 2000);
    expect(await measured()).toEqual({
      'wait.duration mutex granted': [1, 0],
      'active_leases mutex': 1,
      'contentions mutex': 1,
    });
    await first.release();
    const second = await waiting;
    await elapse(clock, 500);
    await second.release();
    expect(await measured()).toEqual({
      'wait.duration mutex granted': [1, 2],
      'hold.duration mutex released': [2, 2.5],
      'active_leases mutex': -1,
    });
  });

  it('counts losses by their reason and failures by their code', async () => {
    await locks.semaphore('s', 1).acquire({ lease: '1s', renew: false });
    expect(await locks.semaphore('s', 1).tryAcquire()).toBe(null);
    const tooLate = locks.semaphore('s', 1).acquire({ wait: '0.5s' }).catch(String);
    await elapse(clock, 1000);
    await tooLate;
    expect(await measured()).toEqual({
      'wait.duration semaphore granted': [1, 0],
      'wait.duration semaphore busy': [1, 0],
      'wait.duration semaphore timeout': [1, 0.5],
      'hold.duration semaphore lost': [1, expect.closeTo(1, 1)],
      'losses semaphore expired': 1,
      'failures semaphore busy': 1,
      'failures semaphore timeout': 1,
      'contentions semaphore': 2,
      'active_leases semaphore': 0,
    });
  });

  it('counts no active lease when all leases have ended', async () => {
    await live();
    const sums = await measured();
    const active = Object.entries(sums).filter(([name]) => name.startsWith('active_leases'));
    expect(active).toEqual([
      ['active_leases mutex', 0],
      ['active_leases rw', 0],
      ['active_leases semaphore', 0],
    ]);
    const counts = (word: string): number =>
      Object.entries(sums)
        .filter(([name]) => name.startsWith(word))
        .reduce((sum, [, value]) => sum + (value as number[])[0]!, 0);
    expect(named('acquire')).toHaveLength(counts('wait.duration'));
    expect(named('hold')).toHaveLength(counts('hold.duration'));
  });

  it('puts both spans under the active span of the caller, wherever they end', async () => {
    const parent = tracer.getTracer('test').startSpan('request');
    const first = await locks.mutex('a').acquire();
    const inside = trace.setSpan(context.active(), parent);
    const waiting = context.with(inside, () => locks.mutex('a').acquire());
    await settle();
    await first.release();
    const second = await waiting;
    await second.release();
    const [, acquire] = named('acquire');
    const [, hold] = named('hold');
    for (const span of [acquire!, hold!]) {
      expect(span.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
      expect(span.status.code).toBe(SpanStatusCode.UNSET);
    }
    expect(acquire!.attributes).toEqual({
      'holdfast.lock.name': 'a',
      'holdfast.lock.kind': 'mutex',
      'holdfast.lock.outcome': 'granted',
      'holdfast.lock.waited': true,
    });
    expect(hold!.attributes).toEqual({
      'holdfast.lock.name': 'a',
      'holdfast.lock.kind': 'mutex',
      'holdfast.lock.fence': second.fence,
      'holdfast.lock.outcome': 'released',
    });
  });

  it('puts the spans of all() under the active span of the caller', async () => {
    const parent = tracer.getTracer('test').startSpan('request');
    const inside = trace.setSpan(context.active(), parent);
    await context.with(inside, () => locks.all(['a', 'b']).run(() => {}));
    const children = [...named('acquire'), ...named('hold')];
    expect(children.map(({ attributes }) => attributes['holdfast.lock.name'])).toEqual([
      ...['a', 'b'],
      ...['a', 'b'],
    ]);
    for (const { parentSpanContext } of children) {
      expect(parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
    }
  });

  it('reports all() as one acquisition when one of its locks is busy', async () => {
    await locks.mutex('a').acquire();
    expect(await locks.all(['a', 'b']).tryAcquire()).toBe(null);
    expect(named('acquire').map(({ attributes }) => attributes['holdfast.lock.name'])).toEqual([
      'a',
      'a,b',
    ]);
    expect(await measured()).toMatchObject({
      'failures mutex busy': 1,
      'contentions mutex': 1,
      'active_leases mutex': 1,
    });
  });

  it('marks a lost lease and a failed acquisition as errors, and a busy lock not', async () => {
    await locks.mutex('a').acquire({ lease: '1s', renew: false });
    await locks.mutex('a').tryAcquire();
    const aborted = locks.mutex('a').acquire({ signal: AbortSignal.timeout(0) });
    await aborted.catch(String);
    await elapse(clock, 1000);
    expect(named('hold').map(({ status, attributes }) => [status, attributes])).toEqual([
      [
        { code: SpanStatusCode.ERROR, message: 'lost: expired' },
        expect.objectContaining({
          'holdfast.lock.outcome': 'lost',
          'holdfast.lock.loss_reason': 'expired',
        }),
      ],
    ]);
    expect(named('acquire').map(({ status }) => status)).toEqual([
      { code: SpanStatusCode.UNSET },
      { code: SpanStatusCode.UNSET },
      { code: SpanStatusCode.ERROR, message: 'not granted: aborted' },
    ]);
    expect(named('acquire').map(({ attributes }) => attributes['error.type'])).toEqual([
      undefined,
      undefined,
      'aborted',
    ]);
  });

  it('gives the acquire span the time that the caller waited', async () => {
    const first = await locks.mutex('a').acquire();
    const waiting = locks.mutex('a').acquire();
    await settle();
    clock.advance(50);
    await first.release();
    await (await waiting).release();
    const [, acquire] = named('acquire');
    const [seconds, nanoseconds] = acquire!.duration;
    expect(seconds * 1000 + nanoseconds / 1e6).toBeCloseTo(50, 0);
  });
});
