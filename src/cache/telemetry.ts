import diagnostics from 'node:diagnostics_channel';
import { systemClock } from '../clock/index.ts';
import {
  type Attributes,
  ERROR_STATUS,
  type OpenTelemetry,
  withOpenTelemetry,
} from '../lock/index.ts';
import type { CacheEvents } from './events.ts';

/** Reports all caches of this process to OpenTelemetry, as observeLocks does: if an SDK is registered, and once. */
export function observeCaches(): void {
  withOpenTelemetry((sdk) => {
    if (isObserving) return;
    isObserving = true;
    for (const [name, listener] of Object.entries(listenersFor(sdk))) {
      diagnostics.subscribe(`holdfast:cache:${name}`, listener as diagnostics.ChannelListener);
    }
  });
}

let isObserving = false;

const RESULT = 'holdfast.cache.result';
const OUTCOME = 'holdfast.cache.outcome';

type Listeners = { readonly [Name in keyof CacheEvents]: (event: CacheEvents[Name]) => void };

/**
 * Converts events to metrics and spans. The key is an attribute of spans only: a metric would keep a series for
 * each key.
 */
function listenersFor(sdk: OpenTelemetry): Listeners {
  const counts = createCounters(sdk);
  const trace = spanWriter(sdk);
  const loadEnded = (event: CacheEvents['write' | 'fail'], outcome: string): void => {
    counts.loadDuration.record(event.loadMs / 1000, { [OUTCOME]: outcome });
    const attributes = { ...keyOf(event), [OUTCOME]: outcome, 'holdfast.cache.fence': event.fence };
    trace('holdfast cache load', event.loadMs, attributes, outcome === 'error');
  };
  return {
    hit: () => counts.requests.add(1, { [RESULT]: 'hit' }),
    stale: () => counts.requests.add(1, { [RESULT]: 'stale' }),
    miss: () => counts.requests.add(1, { [RESULT]: 'miss' }),
    wait: () => counts.waits.add(1),
    waited: (event) => {
      const { waitedMs, outcome } = event;
      counts.waitDuration.record(waitedMs / 1000, { [OUTCOME]: outcome });
      const attributes = { ...keyOf(event), [OUTCOME]: outcome };
      trace('holdfast cache wait', waitedMs, attributes, outcome === 'error');
    },
    load: () => counts.loads.add(1),
    write: (event) => loadEnded(event, event.isKept ? 'kept' : 'refused'),
    fail: (event) => loadEnded(event, 'error'),
    lose: () => counts.losses.add(1),
    set: () => counts.sets.add(1),
    delete: ({ keys }) => counts.invalidations.add(keys.length, { 'holdfast.cache.by': 'key' }),
    invalidate: ({ tags }) => counts.invalidations.add(tags.length, { 'holdfast.cache.by': 'tag' }),
  };
}

function keyOf({ key }: { readonly key: string }): Attributes {
  return { 'holdfast.cache.key': key };
}

/** A span is made when it is over, below whatever the program was doing when it began to wait. */
function spanWriter({ tracer, activeContext }: OpenTelemetry) {
  return (name: string, durationMs: number, attributes: Attributes, isError: boolean): void => {
    const nowMs = systemClock.monotonicMs();
    const startTime = Math.max(0, nowMs - durationMs);
    const span = tracer.startSpan(name, { startTime, attributes }, activeContext());
    if (isError) span.setStatus({ code: ERROR_STATUS });
    span.end(nowMs);
  };
}

/** Bucket boundaries, from a value in memory to a load of minutes. */
const SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];

function createCounters({ meter }: OpenTelemetry) {
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(`holdfast.cache.${name}`, { unit, description });
  const seconds = (name: string, description: string) =>
    meter.createHistogram(`holdfast.cache.${name}`, {
      unit: 's',
      description,
      advice: { explicitBucketBoundaries: SECONDS },
    });
  return {
    requests: counter('requests', '{request}', 'Calls for a value: hit, stale or miss.'),
    loads: counter('loads', '{load}', 'Loads that this process began.'),
    waits: counter('waits', '{wait}', 'Waits of this process for the load of another.'),
    sets: counter('sets', '{set}', 'Values that were set without a load.'),
    losses: counter('losses', '{load}', 'Loads whose lease ended before they did.'),
    invalidations: counter('invalidations', '{invalidation}', 'Keys and tags that were deleted.'),
    loadDuration: seconds('load.duration', 'Duration of loads, with a value or an error.'),
    waitDuration: seconds('wait.duration', 'Duration of waits of callers.'),
  };
}
