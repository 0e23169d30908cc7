import diagnostics from 'node:diagnostics_channel';
import { DURATION_BOUNDS_S, systemClock } from '../clock/index.ts';
import type { LockEvents } from './events.ts';
import {
  type Attributes,
  type Context,
  ERROR_STATUS,
  type OpenTelemetry,
  type Span,
  type Tracer,
  withOpenTelemetry,
} from './open-telemetry.ts';
import type { LockRequest } from './store.ts';

/**
 * Reports all locks of this process to OpenTelemetry, if the program has registered an SDK. Called whenever locks are
 * created; subscribes once.
 *
 * Without an SDK there is no subscription: a channel with subscribers makes an event for each request.
 */
export function observeLocks(): void {
  withOpenTelemetry((sdk) => {
    if (telemetry !== undefined) return;
    telemetry = new Telemetry(sdk);
    for (const [name, listener] of Object.entries(telemetry.listeners)) {
      diagnostics.subscribe(`holdfast:${name}`, listener as diagnostics.ChannelListener);
    }
  });
}

let telemetry: Telemetry | undefined;

/** Calls back with the hold span of this lease as the active span, so that spans of the callback are its children. */
export function runInHoldSpan<Result>(request: LockRequest, callback: () => Result): Result {
  return telemetry === undefined ? callback() : telemetry.runInHoldSpan(request, callback);
}

/** An acquisition that has neither been granted nor failed yet. */
interface Pending {
  /** The active context of the caller. Undefined: there is no context manager. */
  readonly context: Context | undefined;
  hasWaited: boolean;
}

type Listeners = { readonly [Name in keyof LockEvents]?: (event: LockEvents[Name]) => void };

type Failed = LockEvents['fail'];
type Granted = LockEvents['grant'];
type Ended = LockEvents['release' | 'lose' | 'transfer'];

/**
 * Turns events into metrics and spans. The name of a lock is an attribute of spans only: a metric would keep a
 * series for each name that was ever used.
 */
class Telemetry {
  readonly #sdk: OpenTelemetry;
  readonly #instruments: Instruments;
  readonly #tracer: Tracer;
  readonly #pending = new Map<string, Pending>();
  readonly #holds = new Map<string, Span>();

  readonly listeners: Listeners = {
    acquire: (event) => {
      this.#pending.set(keyOf(event), this.#newPending());
    },
    wait: (event) => {
      const pending = this.#pending.get(keyOf(event));
      if (pending !== undefined) pending.hasWaited = true;
      this.#instruments.contentions.add(1, kindOf(event));
    },
    grant: (event) => this.#granted(event),
    fail: (event) => this.#failed(event),
    lose: (event) => this.#lost(event),
    release: (event) => this.#ended(event, event.outcome)?.end(),
    transfer: (event) => this.#ended(event, 'transferred')?.end(),
  };

  constructor(sdk: OpenTelemetry) {
    this.#sdk = sdk;
    this.#instruments = createInstruments(sdk);
    this.#tracer = sdk.tracer;
  }

  runInHoldSpan<Result>({ owner, name }: LockRequest, callback: () => Result): Result {
    const span = this.#holds.get(keyOf({ owner, lock: name }));
    return span === undefined ? callback() : this.#sdk.runInSpan(span, callback);
  }

  #granted(event: Granted): void {
    const { context } = this.#settled(event, 'granted');
    const attributes = { ...nameOf(event), 'holdfast.lock.fence': event.fence };
    const span = this.#tracer.startSpan('holdfast hold', { attributes }, context);
    this.#holds.set(keyOf(event), span);
    this.#instruments.activeLeases.add(1, kindOf(event));
  }

  #failed(event: Failed): void {
    const isBusy = event.code === 'busy';
    this.#settled(event, event.code, isBusy ? undefined : `not granted: ${event.code}`);
    this.#instruments.failures.add(1, { ...kindOf(event), 'error.type': event.code });
    if (isBusy) this.#instruments.contentions.add(1, kindOf(event));
  }

  #lost(event: LockEvents['lose']): void {
    const reason = { [LOSS_REASON]: event.reason };
    const span = this.#ended(event, 'lost', reason);
    if (span === undefined) return;
    span.setStatus({ code: ERROR_STATUS, message: `lost: ${event.reason}` });
    span.end();
    this.#instruments.losses.add(1, { ...kindOf(event), ...reason });
  }

  #settled(event: Granted | Failed, outcome: string, error?: string): Pending {
    const key = keyOf(event);
    const pending = this.#pending.get(key) ?? this.#newPending();
    this.#pending.delete(key);
    this.#traceAcquire(event, pending, outcome, error);
    const seconds = event.waitedMs / 1000;
    this.#instruments.waitDuration.record(seconds, { ...kindOf(event), [OUTCOME]: outcome });
    return pending;
  }

  /** Creates the span at its end, when all attributes are known, with the start time that the event shows. */
  #traceAcquire(
    event: Granted | Failed,
    { context, hasWaited }: Pending,
    outcome: string,
    error: string | undefined,
  ): void {
    const nowMs = systemClock.monotonicMs();
    const startTime = Math.max(0, nowMs - event.waitedMs);
    const more = { [OUTCOME]: outcome, 'holdfast.lock.waited': hasWaited };
    const options = { startTime, attributes: { ...nameOf(event), ...more } };
    const span = this.#tracer.startSpan('holdfast acquire', options, context);
    if (error !== undefined) {
      span.setAttributes({ 'error.type': outcome });
      span.setStatus({ code: ERROR_STATUS, message: error });
    }
    span.end(nowMs);
  }

  #newPending(): Pending {
    return { context: this.#sdk.activeContext(), hasWaited: false };
  }

  /** Undefined: the lease was granted before this class subscribed. */
  #ended(event: Ended, outcome: string, more: Attributes = {}): Span | undefined {
    const key = keyOf(event);
    const span = this.#holds.get(key);
    if (span === undefined) return undefined;
    this.#holds.delete(key);
    const { activeLeases, holdDuration } = this.#instruments;
    activeLeases.add(-1, kindOf(event));
    holdDuration.record(event.heldMs / 1000, { ...kindOf(event), [OUTCOME]: outcome });
    span.setAttributes({ [OUTCOME]: outcome, ...more });
    return span;
  }
}

const KIND = 'holdfast.lock.kind';
const OUTCOME = 'holdfast.lock.outcome';
const LOSS_REASON = 'holdfast.lock.loss_reason';

type Instruments = ReturnType<typeof createInstruments>;

function createInstruments({ meter }: OpenTelemetry) {
  const seconds = (description: string) => ({
    description,
    unit: 's',
    advice: { explicitBucketBoundaries: [...DURATION_BOUNDS_S] },
  });
  return {
    waitDuration: meter.createHistogram(
      'holdfast.lock.wait.duration',
      seconds('From the request for a lock until it was granted or failed.'),
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
      description: 'Leases that ended before their holder released them.',
      unit: '{lease}',
    }),
    activeLeases: meter.createUpDownCounter('holdfast.lock.active_leases', {
      description: 'Leases that are held now.',
      unit: '{lease}',
    }),
  };
}

/** The owner alone is not enough: locks that all() takes have one owner. */
function keyOf({ owner, lock }: { owner: string; lock: string }): string {
  return `${owner} ${lock}`;
}

function kindOf({ kind }: { kind: string }): Attributes {
  return { [KIND]: kind };
}

function nameOf({ lock, kind }: { lock: string; kind: string }): Attributes {
  return { 'holdfast.lock.name': lock, [KIND]: kind };
}
