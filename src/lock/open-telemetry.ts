import { createRequire } from 'node:module';

/**
 * Calls back with the OpenTelemetry SDK of the program: at once, or at the end of this turn if the SDK is registered
 * after the locks are created, as by a module that is imported later. Never, if there is none.
 *
 * The package @opentelemetry/api is an optional peer. It is loaded by `require`, which is synchronous, so that the first
 * lock of a process is observed too. A program that has the package but has registered no SDK is not observed: events
 * would be made for nothing.
 */
export function withOpenTelemetry(callback: (sdk: OpenTelemetry) => void): void {
  const api = loadApi();
  if (api === undefined) return;
  if (hasSdk(api)) callback(sdkOf(api));
  else {
    void Promise.resolve().then(() => {
      if (hasSdk(api)) callback(sdkOf(api));
    });
  }
}

type Api = typeof import('@opentelemetry/api');

let loaded: { readonly api: Api | undefined } | undefined;

function loadApi(): Api | undefined {
  loaded ??= { api: requireApi() };
  return loaded.api;
}

/** Undefined: the program does not have the package. */
function requireApi(): Api | undefined {
  try {
    return createRequire(import.meta.url)('@opentelemetry/api') as Api;
  } catch {
    return undefined;
  }
}

function hasSdk({ metrics, createNoopMeter, trace, ProxyTracerProvider }: Api): boolean {
  if (metrics.getMeter(SCOPE) !== createNoopMeter()) return true;
  const provider = trace.getTracerProvider();
  // Until one is registered, the provider delegates to the one that does nothing, as a fresh one does.
  const isEmpty =
    provider instanceof ProxyTracerProvider &&
    provider.getDelegate() === new ProxyTracerProvider().getDelegate();
  return !isEmpty;
}

function sdkOf({ context, metrics, trace }: Api): OpenTelemetry {
  return {
    tracer: trace.getTracer(SCOPE, SCOPE_VERSION) as Tracer,
    meter: metrics.getMeter(SCOPE, SCOPE_VERSION),
    activeContext: () => context.active(),
    runInSpan: (span, callback) =>
      context.with(trace.setSpan(context.active(), span as ApiSpan), callback),
  };
}

type ApiSpan = Parameters<Api['trace']['setSpan']>[1];

const SCOPE = 'holdfast';
/** The version of this package. */
const SCOPE_VERSION = '0.1.0';

/** The part of OpenTelemetry that is used here, declared anew: not every program has the types of the package. */
export interface OpenTelemetry {
  readonly tracer: Tracer;
  readonly meter: Meter;
  activeContext(): Context;
  /** Calls back with this span as the active one. */
  runInSpan<Result>(span: Span, callback: () => Result): Result;
}

export interface Tracer {
  startSpan(
    name: string,
    options: { readonly startTime?: number; readonly attributes: Attributes },
    context?: Context,
  ): Span;
}

export interface Span {
  setAttributes(attributes: Attributes): unknown;
  setStatus(status: { readonly code: number; readonly message?: string }): unknown;
  end(endTime?: number): void;
}

export interface Context {
  setValue(key: symbol, value: unknown): Context;
}

export type Attributes = Record<string, string | number | boolean>;

interface Meter {
  createHistogram(name: string, options: HistogramOptions): { record: Measure };
  createCounter(name: string, options: InstrumentOptions): { add: Measure };
  createUpDownCounter(name: string, options: InstrumentOptions): { add: Measure };
}

type Measure = (value: number, attributes?: Attributes) => void;

interface InstrumentOptions {
  readonly description: string;
  readonly unit: string;
}

interface HistogramOptions extends InstrumentOptions {
  readonly advice: { readonly explicitBucketBoundaries: number[] };
}

/** SpanStatusCode.ERROR. */
export const ERROR_STATUS = 2;
