/**
 * Calls back with the OpenTelemetry SDK of the program: at once, or at the end of this turn if the SDK is registered
 * after the locks are created, as by a module that is imported later. Never, if there is none.
 *
 * The package @opentelemetry/api is not imported. Every 1.x copy of it keeps what an SDK registers in one global
 * object, so that several copies work together. To read that object is synchronous, so that the first lock of a process
 * is observed too, and it finds the SDK of a bundled program, and that of Deno, which comes without the package.
 */
export function withOpenTelemetry(callback: (sdk: OpenTelemetry) => void): void {
  const now = registeredSdk();
  if (now !== undefined) callback(now);
  else {
    void Promise.resolve().then(() => {
      const later = registeredSdk();
      if (later !== undefined) callback(later);
    });
  }
}

/** The part of OpenTelemetry that is used here. Declared here, since not every program has the types of the package. */
export interface OpenTelemetry {
  readonly tracer: Tracer;
  readonly meter: Meter;
  /** Undefined: no context manager is registered, so that no span has a parent. */
  activeContext(): Context | undefined;
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

/** The global object, named for the major version of the package. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');
/** Where a context keeps its active span. */
const SPAN_KEY = Symbol.for('OpenTelemetry Context Key SPAN');

interface Registered {
  readonly trace?: { getTracer(name: string, version: string): Tracer };
  readonly metrics?: { getMeter(name: string, version: string): Meter };
  readonly context?: {
    active(): Context;
    with<Result>(context: Context, callback: () => Result): Result;
  };
}

const SCOPE = 'holdfast';
/** The version of this package. */
const SCOPE_VERSION = '0.1.0';

function registeredSdk(): OpenTelemetry | undefined {
  const registered = (globalThis as { [REGISTERED]?: Registered })[REGISTERED] ?? {};
  const { trace, metrics } = registered;
  if (trace === undefined && metrics === undefined) return undefined;
  return {
    tracer: trace?.getTracer(SCOPE, SCOPE_VERSION) ?? NOOP_TRACER,
    meter: metrics?.getMeter(SCOPE, SCOPE_VERSION) ?? NOOP_METER,
    // Read each time: the context manager may be registered after the tracer.
    activeContext: () => registered.context?.active(),
    runInSpan(span, callback) {
      const { context } = registered;
      if (context === undefined) return callback();
      return context.with(context.active().setValue(SPAN_KEY, span), callback);
    },
  };
}

/** For a program that registers metrics only. */
const NOOP_TRACER: Tracer = {
  startSpan: () => ({ setAttributes() {}, setStatus() {}, end() {} }),
};

/** For a program that registers tracing only. */
const NOOP_METER: Meter = {
  createHistogram: () => ({ record() {} }),
  createCounter: () => ({ add() {} }),
  createUpDownCounter: () => ({ add() {} }),
};
