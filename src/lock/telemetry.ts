import diagnostics from 'node:diagnostics_channel';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import { systemClock } from '../clock/index.ts';
import type { LockEvents } from './events.ts';

type Api = typeof import('@opentelemetry/api');

/**
 * Tells OpenTelemetry of all locks of this process, if the program uses it: called whenever locks are
 * created, does its work once.
 *
 * The package is an optional peer. A program that has it but has registered no SDK, as one that gets it
 * through another library, is not observed at all, since a channel without subscribers costs nothing and
 * one with subscribers makes an event each time. The SDK is looked for when locks are created, so it must
 * be registered before that, or in the same turn; OpenTelemetry asks that it be the first thing anyway.
 */
export async function observeLocks(): Promise<void> {
  if (isObserving) return;
  const api = (await telemetryApi()) as Api | undefined;
  if (api === undefined || isObserving) return;
  isObserving = true;
  const listeners = Object.entries(new Telemetry(api).listeners);
  for (const [name, listener] of listeners) {
    diagnostics.subscribe(`holdfast:${name}`, listener as diagnostics.ChannelListener);
  }
}

let isObserving = false;
let loading: Promise<Api | undefined> | undefined;

/**
 * Undefined: the program has not got the package, or has registered no SDK yet. Its type is not told, since
 * a program without the package could not compile what names it.
 */
export async function telemetryApi(): Promise<unknown> {
  loading ??= import('@opentelemetry/api').catch(() => undefined);
  const api = await loading;
  return api !== undefined && hasSdk(api) ? api : undefined;
}

function hasSdk({ metrics, createNoopMeter, trace, ProxyTracerProvider }: Api): boolean {
  if (metrics.getMeter(SCOPE) !== createNoopMeter()) return true;
  const provider = trace.getTracerProvider();
  // Until one is registered, the provider stands for the one that does nothing, as a fresh one does.
  const isEmpty =
    provider instanceof ProxyTracerProvider &&
    provider.getDelegate() === new ProxyTracerProvider().getDelegate();
  return !isEmpty;
}

const SCOPE = 'holdfast';

/** What is known of an acquisition until it is granted or has failed. */
interface Asking {
  /** Where in the program it was asked for. */
  readonly context: Context;
  hasWaited: boolean;
}

type Listeners = { readonly [Name in keyof LockEvents]?: (event: LockEvents[Name]) => void };

type Failed = LockEvents['fail'];
type Granted = LockEvents['grant'];
type Ended = LockEvents['release' | 'lose' | 'transfer'];

/**
 * Events as metrics and spans. The name of a lock is an attribute of spans only: a metric would keep a
 * series for each name that was ever used.
 */
class Telemetry {
  readonly #api: Api;
  readonly #instruments: Instruments;
  readonly #tracer: Tracer;
  readonly #asking = new Map<string, Asking>();
  readonly #holds = new Map<string, Span>();

  readonly listeners: Listeners = {
    acquire: (event) => {
      this.#asking.set(keyOf(event), this.#newAsking());
    },
    wait: (event) => {
      const asking = this.#asking.get(keyOf(event));
      if (asking !== undefined) asking.hasWaited = true;
      this.#instruments.contentions.add(1, kindOf(event));
    },
    grant: (event) => this.#granted(event),
    fail: (event) => this.#failed(event),
    lose: (event) => this.#lost(event),
    release: (event) => this.#ended(event, event.outcome)?.end(),
    transfer: (event) => this.#ended(event, 'transferred')?.end(),
  };

  constructor(api: Api) {
    this.#api = api;
    this.#instruments = createInstruments(api);
    this.#tracer = api.trace.getTracer(SCOPE);
  }

  #granted(event: Granted): void {
    const { context } = this.#asked(event, 'granted');
    const attributes = { ...nameOf(event), 'holdfast.lock.fence': event.fence };
    const span = this.#tracer.startSpan('holdfast hold', { attributes }, context);
    this.#holds.set(keyOf(event), span);
    this.#instruments.activeLeases.add(1, kindOf(event));
  }

  #failed(event: Failed): void {
    const isBusy = event.code === 'busy';
    this.#asked(event, event.code, isBusy ? undefined : `not granted: ${event.code}`);
    this.#instruments.failures.add(1, { ...kindOf(event), 'error.type': event.code });
    if (isBusy) this.#instruments.contentions.add(1, kindOf(event));
  }

  #lost(event: LockEvents['lose']): void {
    const reason = { [LOSS_REASON]: event.reason };
    const span = this.#ended(event, 'lost', reason);
    if (span === undefined) return;
    const code = this.#api.SpanStatusCode.ERROR;
    span.setStatus({ code, message: `lost: ${event.reason}` }).end();
    this.#instruments.losses.add(1, { ...kindOf(event), ...reason });
  }

  #asked(event: Granted | Failed, outcome: string, error?: string): Asking {
    const key = keyOf(event);
    const asking = this.#asking.get(key) ?? this.#newAsking();
    this.#asking.delete(key);
    this.#traceAsked(event, asking, outcome, error);
    const seconds = event.waitedMs / 1000;
    this.#instruments.waitDuration.record(seconds, { ...kindOf(event), [OUTCOME]: outcome });
    return asking;
  }

  /** The span is made when it is over, from the time that the event names: then all of it is known. */
  #traceAsked(
    event: Granted | Failed,
    { context, hasWaited }: Asking,
    outcome: string,
    error: string | undefined,
  ): void {
    const nowMs = systemClock.monotonicMs();
    const startTime = Math.max(0, nowMs - event.waitedMs);
    const more = { [OUTCOME]: outcome, 'holdfast.lock.waited': hasWaited };
    const options = { startTime, attributes: { ...nameOf(event), ...more } };
    const span = this.#tracer.startSpan('holdfast acquire', options, context);
    if (error !== undefined) {
      span.setAttribute('error.type', outcome);
      span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: error });
    }
    span.end(nowMs);
  }

  #newAsking(): Asking {
    return { context: this.#api.context.active(), hasWaited: false };
  }

  /** Nothing, if it was granted before we listened, or given back before anybody had it. */
  #ended(event: Ended, outcome: string, more: Attributes = {}): Span | undefined {
    const key = keyOf(event);
    const span = this.#holds.get(key);
    if (span === undefined) return undefined;
    this.#holds.delete(key);
    const { activeLeases, holdDuration } = this.#instruments;
    activeLeases.add(-1, kindOf(event));
    holdDuration.record(event.heldMs / 1000, { ...kindOf(event), [OUTCOME]: outcome });
    return span.setAttributes({ [OUTCOME]: outcome, ...more });
  }
}

const KIND = 'holdfast.lock.kind';
const OUTCOME = 'holdfast.lock.outcome';
const LOSS_REASON = 'holdfast.lock.loss_reason';

/** From a lock in memory to one that is busy for minutes. */
const SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300];

type Instruments = ReturnType<typeof createInstruments>;

function createInstruments({ metrics }: Api) {
  const meter = metrics.getMeter(SCOPE);
  const seconds = (description: string) => ({
    description,
    unit: 's',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  return {
    waitDuration: meter.createHistogram(
      'holdfast.lock.wait.duration',
      seconds('From asking for a lock until it was granted, or not.'),
    ),
    holdDuration: meter.createHistogram(
      'holdfast.lock.hold.duration',
      seconds('From the grant of a lock until its lease ended.'),
    ),
    contentions: meter.createCounter('holdfast.lock.contentions', {
      description: 'Acquisitions that found the lock busy.',
      unit: '{acquisition}',
    }),
    failures: meter.createCounter('holdfast.lock.failures', {
      description: 'Acquisitions that were not granted.',
      unit: '{acquisition}',
    }),
    losses: meter.createCounter('holdfast.lock.losses', {
      description: 'Leases that ended before their holder let go.',
      unit: '{lease}',
    }),
    activeLeases: meter.createUpDownCounter('holdfast.lock.active_leases', {
      description: 'Leases that are held.',
      unit: '{lease}',
    }),
  };
}

/** Several locks that are taken at once have one owner. */
function keyOf({ owner, lock }: { owner: string; lock: string }): string {
  return `${owner} ${lock}`;
}

function kindOf({ kind }: { kind: string }): Attributes {
  return { [KIND]: kind };
}

function nameOf({ lock, kind }: { lock: string; kind: string }): Attributes {
  return { 'holdfast.lock.name': lock, [KIND]: kind };
}
