import { type Duration, durationMs } from './duration.ts';
import { LockArgumentError } from './errors.ts';

/** How to acquire a lock. Durations are milliseconds or text such as `'30s'`. */
export interface AcquireOptions {
  /** How long the store keeps the lock without a renewal. Always finite. Default 30 s. */
  readonly lease?: Duration;
  /** How long to wait for a busy lock. 0: do not wait. May be Infinity. Default 10 s. */
  readonly wait?: Duration;
  /** Ends the wait when it aborts. */
  readonly signal?: AbortSignal;
  /** Whether the lease is renewed while it is held. Default true. */
  readonly renew?: boolean;
  /** Caps the total time that the lock is held, however often it is renewed. Default: no limit. */
  readonly maxHold?: Duration;
  /**
   * How long the lock stays taken, counted from the grant, also if it is released before: "once in five minutes". If
   * the process dies before the release, the lock ends with its lease. `maxHold` and close() release a lock
   * that is still held, and do not keep it. Default 0.
   */
  readonly keepFor?: Duration;
  /** A text that other clients see with the holder, at most 1024 bytes. Default: none. */
  readonly label?: string;
  /**
   * Inside the callback of a run() that holds this lock, share its lease instead of waiting for it. Requests of one
   * callback still take turns. Default false.
   */
  readonly reentrant?: boolean;
  /**
   * Take the lock from its holders, before all waiters, with a larger fence. The signal of a former holder aborts at
   * once if its process listens for messages, else at its next renewal. Needs a `reason`. Default false.
   */
  readonly steal?: boolean;
  /** Why the lock is stolen, at most 1024 bytes. Former holders find it in the cause of their LockLostError. */
  readonly reason?: string;
}

/** Defaults of the options of all acquisitions. */
export type AcquireDefaults = Pick<AcquireOptions, 'wait' | 'lease' | 'label'>;

export interface ResolvedOptions {
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly renews: boolean;
  readonly maxHoldMs: number;
  readonly keepForMs: number;
  readonly label: string;
  readonly isReentrant: boolean;
  readonly stealReason: string | undefined;
}

type Given = { readonly [Option in keyof AcquireOptions]?: AcquireOptions[Option] | undefined };

/** A shorter lease could end before the reply arrives. */
const MIN_LEASE_MS = 10;

/** Reads the options of acquisitions, with defaults. */
export class OptionReader {
  readonly #defaults: Given;
  readonly #resolvedDefaults: ResolvedOptions;
  #lastGiven: Given = {};
  #lastResolved: ResolvedOptions;

  /** @throws LockArgumentError if a default is wrong. */
  constructor(defaults: AcquireDefaults = {}) {
    if (typeof defaults !== 'object' || defaults === null) throw notDefaults(defaults);
    for (const name in defaults) if (!DEFAULTED.has(name)) throw notDefaults(`{ ${name} }`);
    const { wait, lease, label } = defaults;
    this.#defaults = { wait, lease, label };
    this.#resolvedDefaults = resolve('', this.#defaults);
    this.#lastResolved = this.#resolvedDefaults;
  }

  /** Memoizes the last options: most callers pass the same ones again, and many waiters share the result. */
  resolve(lock: string, options?: AcquireOptions): ResolvedOptions {
    if (options === undefined) return this.#resolvedDefaults;
    if (typeof options !== 'object' || options === null) throw notOptions(lock, options);
    checkKeys(lock, options);
    if (areSame(options, this.#lastGiven)) return this.#lastResolved;
    const given = this.#withDefaults(options);
    const resolved = resolve(lock, given);
    // Options with a signal are not memoized: that would keep the signal in memory.
    if (given.signal !== undefined) return resolved;
    this.#lastGiven = pick(options);
    this.#lastResolved = resolved;
    return resolved;
  }

  #withDefaults(options: AcquireOptions): Given {
    const given = pick(options);
    const { wait, lease, label } = this.#defaults;
    return {
      ...given,
      wait: given.wait ?? wait,
      lease: given.lease ?? lease,
      label: given.label ?? label,
    };
  }
}

/** Copies options one by one, which includes inherited ones. */
function pick(options: AcquireOptions): Given {
  const { lease, wait, signal, renew, maxHold, keepFor, label, reentrant, steal, reason } = options;
  return { lease, wait, signal, renew, maxHold, keepFor, label, reentrant, steal, reason };
}

function areSame(one: AcquireOptions, other: Given): boolean {
  return (
    one.signal === undefined &&
    one.lease === other.lease &&
    one.wait === other.wait &&
    one.renew === other.renew &&
    one.maxHold === other.maxHold &&
    one.keepFor === other.keepFor &&
    one.label === other.label &&
    one.reentrant === other.reentrant &&
    one.steal === other.steal &&
    one.reason === other.reason
  );
}

function resolve(lock: string, options: Given): ResolvedOptions {
  const { lease = '30s', wait = '10s', maxHold = Number.POSITIVE_INFINITY, keepFor = 0 } = options;
  return {
    leaseMs: leaseMsOf(lock, lease),
    waitMs: durationMs(wait, 'wait', lock, { leastMs: 0, endless: true }),
    maxHoldMs: durationMs(maxHold, 'maxHold', lock, { leastMs: MIN_LEASE_MS, endless: true }),
    keepForMs: durationMs(keepFor, 'keepFor', lock, { leastMs: 0 }),
    signal: checkSignal(lock, options.signal ?? undefined),
    renews: checkFlag(lock, options.renew ?? true, 'renew'),
    label: checkText(lock, options.label ?? '', 'label'),
    isReentrant: checkFlag(lock, options.reentrant ?? false, 'reentrant'),
    stealReason: stealReasonOf(lock, options),
  };
}

export function leaseMsOf(lock: string, lease: Duration): number {
  return durationMs(lease, 'lease', lock, { leastMs: MIN_LEASE_MS });
}

function stealReasonOf(lock: string, { steal, reason }: Given): string | undefined {
  if (!checkFlag(lock, steal ?? false, 'steal')) {
    if (reason === undefined) return undefined;
    throw new LockArgumentError(lock, 'reason is for { steal: true }: leave it out, or steal');
  }
  if (reason === undefined || reason === '') {
    throw new LockArgumentError(
      lock,
      "steal needs a reason, which the former holder sees, such as { steal: true, reason: 'host is gone' }",
    );
  }
  return checkText(lock, reason, 'reason');
}

/** Checked before the request is sent: an error after the grant would leave the lock taken without a holder. */
function checkSignal(lock: string, signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || isSignal(signal)) return signal;
  throw new LockArgumentError(
    lock,
    'signal must be an AbortSignal, such as AbortSignal.timeout(500) or the signal of an AbortController',
  );
}

/** Checks the shape: instanceof fails for a signal of another copy of the class. */
function isSignal({ aborted, addEventListener, removeEventListener }: AbortSignal): boolean {
  const methods = [addEventListener, removeEventListener];
  return typeof aborted === 'boolean' && methods.every((method) => typeof method === 'function');
}

/** Accepts no strings: `'false'`, from an environment variable, would count as true. */
function checkFlag(lock: string, flag: boolean, option: string): boolean {
  if (typeof flag === 'boolean') return flag;
  throw new LockArgumentError(lock, `${option} must be true or false; got ${String(flag)}`);
}

/** Throws for an unknown option: if a misspelt one were ignored, its default would apply. */
function checkKeys(lock: string, options: object): void {
  for (const name in options) {
    if (KNOWN.has(name)) continue;
    const known = [...KNOWN].join(', ');
    throw new LockArgumentError(lock, `there is no option '${name}'. There are: ${known}`);
  }
}

const KNOWN: ReadonlySet<string> = new Set<keyof AcquireOptions>([
  'lease',
  'wait',
  'signal',
  'renew',
  'maxHold',
  'keepFor',
  'label',
  'reentrant',
  'steal',
  'reason',
]);

const DEFAULTED: ReadonlySet<string> = new Set<keyof AcquireDefaults>(['wait', 'lease', 'label']);

function notDefaults(given: unknown): LockArgumentError {
  return new LockArgumentError(
    '',
    `defaults are { wait, lease, label }, each for all locks; got ${String(given)}`,
  );
}

function notOptions(lock: string, given: unknown): LockArgumentError {
  return new LockArgumentError(
    lock,
    `options are an object, such as { wait: '5s', lease: '30s' }; got ${String(given)}`,
  );
}

/** A label is part of the value of a lock, which other clients read. */
const MAX_TEXT_BYTES = 1024;

function checkText(lock: string, text: string, option: 'label' | 'reason'): string {
  if (typeof text !== 'string') {
    throw new LockArgumentError(lock, `${option} must be a string; got ${String(text)}`);
  }
  // A UTF-16 code unit has at most three bytes in UTF-8.
  if (text.length <= MAX_TEXT_BYTES / 3) return text;
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_TEXT_BYTES) return text;
  throw new LockArgumentError(
    lock,
    `${option} has at most ${MAX_TEXT_BYTES} bytes; this one has ${bytes}. Shorten it.`,
  );
}

const MAX_NAME_BYTES = 1024;
const HALF_A_CHARACTER =
  'the name of a lock has half a character (a lone surrogate), which others would not see. Use name.toWellFormed(), or a hash of it.';

/** Any well-formed string of 1 to 1024 bytes in UTF-8 is a name. */
export function checkName(name: string): string {
  if (typeof name !== 'string' || name === '') {
    throw new LockArgumentError('', 'a lock needs a name: a string that is not empty');
  }
  if (!name.isWellFormed()) throw new LockArgumentError(name, HALF_A_CHARACTER);
  // A UTF-16 code unit has at most three bytes in UTF-8.
  if (name.length <= MAX_NAME_BYTES / 3) return name;
  const bytes = Buffer.byteLength(name);
  if (bytes <= MAX_NAME_BYTES) return name;
  throw new LockArgumentError(
    `${name.slice(0, 32)}…`,
    `the name of a lock has at most ${MAX_NAME_BYTES} bytes; this one has ${bytes}. Use a hash of it.`,
  );
}

/** Checks that a count is a whole number from 1 to `max`. */
export function checkCount(lock: string, count: number, option: string, max: number): number {
  if (Number.isSafeInteger(count) && count >= 1 && count <= max) return count;
  throw new LockArgumentError(
    lock,
    `${option} must be a whole number from 1 to ${max}; got ${String(count)}`,
  );
}

/** Throws for a number, or an unknown option: if it were ignored, the lock would take one permit. */
export function permitsOf(lock: string, options?: { readonly permits?: number } | null): number {
  if (options === undefined || options === null) return 1;
  const isKnown =
    typeof options === 'object' && Object.keys(options).every((name) => name === 'permits');
  if (isKnown) return options.permits ?? 1;
  throw new LockArgumentError(lock, 'the options of a semaphore are { permits: how many }');
}

export function checkNames(names: readonly string[]): readonly string[] {
  if (!Array.isArray(names) || names.length === 0) {
    throw new LockArgumentError(
      '',
      'all() needs the names of the locks: an array with at least one',
    );
  }
  // Not map(), which skips holes.
  return Array.from(names, checkName);
}
