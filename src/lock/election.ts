import type { Random } from '../clock/index.ts';
import type { LockCore } from './core.ts';
import type { Duration } from './duration.ts';
import { LockAbortedError, LockArgumentError, LockLostError, NotHeldError } from './errors.ts';
import type { Lease } from './lease.ts';
import type { Lock } from './lock.ts';
import { loseSignal } from './lose-signal.ts';
import type { AcquireOptions } from './options.ts';
import { withRunContext } from './run-context.ts';
import type { ForeignHolder, Holder, HoldfastHolder } from './store.ts';

/**
 * A candidate for the leadership of one name. It campaigns until `stop()` or `locks.close()`: it waits in the queue of
 * the mutex of that name, runs the callback while it holds the mutex, releases it, pauses, and waits again.
 *
 * One election never runs its callback twice at the same time: it campaigns again only after the callback has
 * returned. The process stays alive until the election ends.
 */
export class Election implements AsyncDisposable {
  readonly name: string;
  /**
   * Resolves when the election has ended and the callback has returned. Rejects with what `onError` throws, which
   * ends the election.
   */
  readonly done: Promise<void>;
  readonly #core: LockCore;
  readonly #lock: Lock;
  readonly #random: Random;
  readonly #callback: LeaderCallback;
  readonly #onError: (error: unknown) => Promise<void> | void;
  readonly #acquireOptions: AcquireOptions;
  readonly #stopping = new AbortController();

  constructor({ core, lock, random, callback, options = {} }: ElectionParts) {
    checkCallback(lock.name, callback);
    checkOptions(lock.name, options);
    const { lease, label, onError } = options;
    this.name = lock.name;
    this.#core = core;
    this.#lock = lock;
    this.#random = random;
    this.#callback = callback;
    this.#onError = onError ?? ((error) => warn(lock.name, error));
    this.#acquireOptions = {
      ...(lease === undefined ? {} : { lease }),
      ...(label === undefined ? {} : { label }),
      wait: Number.POSITIVE_INFINITY,
      signal: this.#stopping.signal,
    };
    // Throws now if an option is wrong.
    core.options.resolve(lock.name, this.#acquireOptions);
    // The election is no part of the callback of run() that may have started it.
    this.done = withRunContext(undefined, () => core.keepAlive(this.#campaign()));
  }

  /**
   * Ends the election. Aborts `leader.signal`, waits until the callback has returned, and releases the leadership
   * only then, so that the next leader does not start beside a callback that is still at work. Resolves when the mutex is
   * released, or after half a second if the store does not reply.
   *
   * @throws what `onError` throws.
   */
  stop(): Promise<void> {
    this.#stopping.abort(new Error(`the election of '${this.name}' was stopped`));
    return this.done;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /**
   * Reads the current leader from the store: of this process or any other. Null if there is none.
   *
   * @throws LockUnavailableError if the store cannot be reached.
   */
  async leader(): Promise<CurrentLeader | null> {
    const { holders } = await this.#lock.inspect();
    const holder: Holder | undefined = holders[0];
    if (holder === undefined) return null;
    if (holder.foreign) return { foreign: true, type: holder.type, value: holder.value };
    const { host, pid, label, fence, ageMs } = holder;
    const since = new Date(this.#core.clock.wallMs() - ageMs);
    return { foreign: false, host, pid, label, fence, since };
  }

  async #campaign(): Promise<void> {
    for (let shortTerms = 0; !this.#isEnded; shortTerms++) {
      const { ledMs, failure } = await this.#serveTerm();
      if (failure !== undefined) await this.#onError(failure.error);
      if (ledMs >= MAX_PAUSE_MS) shortTerms = 0;
      await this.#pause(Math.min(MIN_PAUSE_MS * 2 ** shortTerms, MAX_PAUSE_MS));
    }
    // A request that stop() ended may still be granted, and is released then.
    if (this.#core.closed === undefined) await this.#core.finishWork(this.name);
  }

  get #isEnded(): boolean {
    return this.#stopping.signal.aborted || this.#core.closed !== undefined;
  }

  /** Waits for the leadership, and leads until the callback returns. Never rejects. */
  async #serveTerm(): Promise<Term> {
    const term: Term = { ledMs: 0, failure: undefined };
    try {
      await this.#lock.run((lease) => this.#lead(lease, term), this.#acquireOptions);
    } catch (error) {
      // A loss is reported by leader.signal, and the end of the election by `done`.
      const isExpected =
        error instanceof LockLostError || (error instanceof LockAbortedError && this.#isEnded);
      if (!isExpected) term.failure ??= { error };
    }
    return term;
  }

  async #lead(lease: Lease, term: Term): Promise<void> {
    const { clock } = this.#core;
    const beganMs = clock.monotonicMs();
    const controller = this.#signalOf(lease);
    const { signal } = controller;
    // It may have ended after the grant, before this function was called.
    if (signal.aborted) return;
    try {
      const leader: Leader = {
        name: this.name,
        // Read when the callback reads it: it throws if the store has no fences.
        get fence() {
          return lease.fence;
        },
        signal,
      };
      await this.#callback(leader);
    } catch (error) {
      if (!isCausedBy(signal, error)) term.failure = { error };
    }
    // Work that the callback has started and not awaited must stop, too.
    controller.abort(new NotHeldError(this.name));
    term.ledMs = clock.monotonicMs() - beganMs;
  }

  /** Aborts when the lease is lost, the election is stopped or the term is over. */
  #signalOf(lease: Lease): AbortController {
    const stopping = this.#stopping.signal;
    const controller = loseSignal(() => void lease.isHeld);
    const onLoss = (): void => controller.abort(lease.signal.reason);
    const onStop = (): void =>
      controller.abort(new LockAbortedError(this.name, stopping.reason, 'holding'));
    const once = { once: true, signal: controller.signal };
    lease.signal.addEventListener('abort', onLoss, once);
    stopping.addEventListener('abort', onStop, once);
    if (stopping.aborted) onStop();
    return controller;
  }

  /** Lasts a random part of the time, so that candidates that fail together do not return together. */
  async #pause(maxMs: number): Promise<void> {
    const { signal } = this.#stopping;
    if (this.#isEnded) return;
    const durationMs = (maxMs * (1 + this.#random.next())) / 2;
    await new Promise<void>((resolve) => {
      const end = (): void => resolve();
      signal.addEventListener('abort', end, { once: true });
      // Ends early on close().
      void this.#core.pause(durationMs).then(() => {
        signal.removeEventListener('abort', end);
        end();
      });
    });
  }
}

/** The first pause between two terms. It doubles after each term that was shorter than MAX_PAUSE_MS. */
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/** Runs while this process is the leader. When it returns or throws, the leadership is released. */
export type LeaderCallback = (leader: Leader) => Promise<void> | void;

/** What a callback of `locks.elect()` receives. */
export interface Leader {
  readonly name: string;
  /**
   * Larger than that of every earlier leader: pass it to what you write to, and refuse smaller ones there.
   *
   * @throws LockArgumentError if the store has no fences, such as memcached.
   */
  readonly fence: number;
  /**
   * Aborts before another process can become the leader, on `stop()`, on `locks.close()`, and when the callback has
   * returned. `signal.aborted` checks the clock when it is read.
   */
  readonly signal: AbortSignal;
}

/** The leader that the store names. Foreign: another program, not Holdfast, took the key of the mutex. */
export type CurrentLeader =
  | (Pick<HoldfastHolder, 'foreign' | 'host' | 'pid' | 'label' | 'fence'> & {
      /** When its term began: the age of the lease in the store, on the clock of this process. */
      readonly since: Date;
    })
  | Pick<ForeignHolder, 'foreign' | 'type' | 'value'>;

export interface ElectOptions {
  /**
   * How long the store keeps the leadership of a process that died or that cannot reach the store. Default: as for
   * acquire(), 30 s.
   */
  readonly lease?: Duration;
  /** What `election.leader()` shows of this candidate, at most 1024 bytes. Default: none. */
  readonly label?: string;
  /**
   * Receives each error of the callback, and each error of the store that ends a campaign, such as a wrong password.
   * The leadership is released before, and the election continues afterwards. If `onError` throws, the election ends,
   * and `election.done` rejects. Default: a process warning with the code HOLDFAST_ELECTION.
   */
  readonly onError?: (error: unknown) => Promise<void> | void;
}

interface ElectionParts {
  readonly core: LockCore;
  readonly lock: Lock;
  readonly random: Random;
  readonly callback: LeaderCallback;
  readonly options: ElectOptions | undefined;
}

interface Term {
  /** How long the callback ran. 0: the campaign was not won. */
  ledMs: number;
  failure: { readonly error: unknown } | undefined;
}

/** A callback that stops because its signal aborted usually throws the reason, or an AbortError of Node. */
function isCausedBy(signal: AbortSignal, error: unknown): boolean {
  if (!signal.aborted) return false;
  return error === signal.reason || (error instanceof Error && error.name === 'AbortError');
}

function warn(name: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const detail = error instanceof Error ? { detail: error.stack ?? '' } : {};
  process.emitWarning(
    `a term of the election of '${name}' failed (${message}). This candidate campaigns again. Pass onError to ` +
      'elect() to handle such errors.',
    { type: 'HoldfastWarning', code: 'HOLDFAST_ELECTION', ...detail },
  );
}

function checkCallback(name: string, callback: unknown): void {
  if (typeof callback === 'function') return;
  throw new LockArgumentError(
    name,
    `elect() needs a callback that runs while this process leads, such as async (leader) => {…}; got ${String(callback)}`,
  );
}

const OPTIONS: ReadonlySet<string> = new Set<keyof ElectOptions>(['lease', 'label', 'onError']);

function checkOptions(name: string, options: ElectOptions): void {
  if (typeof options !== 'object' || options === null) {
    throw new LockArgumentError(
      name,
      `the options of elect() are an object, such as { lease: '10s' }; got ${String(options)}`,
    );
  }
  for (const option in options) {
    if (OPTIONS.has(option)) continue;
    const known = [...OPTIONS].join(', ');
    throw new LockArgumentError(
      name,
      `elect() has no option '${option}'. It has: ${known}. A candidate waits and renews until stop().`,
    );
  }
  const { onError } = options;
  if (onError === undefined || typeof onError === 'function') return;
  throw new LockArgumentError(name, `onError must be a function; got ${String(onError)}`);
}
