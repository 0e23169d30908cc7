import { metrics, trace } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { afterEach, expect, it } from 'vitest';
import { type OpenTelemetry, type Span, withOpenTelemetry } from './open-telemetry.ts';

afterEach(() => {
  trace.disable();
  metrics.disable();
});

/** The calls so far. */
function listen(): OpenTelemetry[] {
  const calls: OpenTelemetry[] = [];
  withOpenTelemetry((sdk) => calls.push(sdk));
  return calls;
}

/** Uses every method that the lock and cache telemetry use. */
function use({ meter, tracer, activeContext, runInSpan }: OpenTelemetry): Span {
  const named = { description: 'x', unit: 's' };
  meter.createHistogram('h', { ...named, advice: { explicitBucketBoundaries: [1] } }).record(1);
  meter.createCounter('c', named).add(1, { a: 1 });
  meter.createUpDownCounter('u', named).add(-1);
  const span = tracer.startSpan('s', { attributes: { a: 'b' } }, activeContext());
  expect(runInSpan(span, () => 7)).toBe(7);
  span.setAttributes({ c: true });
  span.setStatus({ code: 2, message: 'no' });
  span.end();
  return span;
}

it('does not call back without an SDK', async () => {
  const calls = listen();
  await new Promise(setImmediate);
  expect(calls).toEqual([]);
});

it('calls back at once when an SDK is registered', () => {
  trace.setGlobalTracerProvider(new BasicTracerProvider());
  expect(listen()).toHaveLength(1);
});

it('calls back when an SDK is registered later in the same turn', async () => {
  const calls = listen();
  metrics.setGlobalMeterProvider(new MeterProvider());
  expect(calls).toEqual([]);
  await Promise.resolve();
  expect(calls).toHaveLength(1);
});

it('records spans with tracing alone, and ignores measurements', () => {
  trace.setGlobalTracerProvider(new BasicTracerProvider());
  const [sdk] = listen();
  expect(use(sdk!)).toMatchObject({ name: 's', ended: true });
});

it('records measurements with metrics alone, and ignores spans', () => {
  metrics.setGlobalMeterProvider(new MeterProvider());
  const [sdk] = listen();
  expect(use(sdk!)).not.toHaveProperty('name');
});

it('has types that the API of OpenTelemetry fits', () => {
  const declared: Pick<OpenTelemetry, 'tracer' | 'meter'> = {
    tracer: trace.getTracer('a'),
    meter: metrics.getMeter('a'),
  };
  expect(declared).toBeDefined();
});
