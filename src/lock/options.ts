import { type Duration, durationMs } from './duration.ts';
import { LockArgumentError } from './errors.ts';

/** How to acquire. Durations are milliseconds or text such as `'30s'`. */
export interface AcquireOptions {
  /** How long the store keeps the lock if it hears nothing more. Always finite; default 30 s. */
  readonly lease?: Duration;
  /** How long to wait for a busy lock. 0: ask once. Infinity only if asked for. Default 10 s. */
  readonly wait?: Duration;
  /** Gives up waiting. */
  readonly signal?: AbortSignal;
  /** Whether the lease is renewed for as long as it is held. Default true. */
  readonly renew?: boolean;
  /** The longest that it may be held, however often it is renewed. Default: no limit. */
  readonly maxHold?: Duration;
  /** What others see of the holder, at most 1024 bytes. Default: nothing. */
  readonly label?: string;
  /**
   * Inside the body of a run() that holds this lock, share its lease instead of waiting for it. Siblings
   * in the same body still take turns. Default false.
   */
  readonly reentrant?: boolean;
}

export interface ResolvedOptions {
  readonly leaseMs: number;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
  readonly renews: boolean;
  readonly maxHoldMs: number;
  readonly label: string;
  readonly isReentrant: boolean;
}

type Given = { readonly [Option in keyof AcquireOptions]?: AcquireOptions[Option] | undefined };

/** Below this a lease could end on the way from the store. */
const SHORTEST_LEASE_MS = 10;

/** Who asks often asks in the same way: what was resolved last is shared, by all that wait with it. */
export function resolveOptions(lock: string, options?: AcquireOptions): ResolvedOptions {
  if (options === undefined) return DEFAULTS;
  if (typeof options !== 'object' || options === null) throw notOptions(lock, options);
  refuseOthers(lock, options);
  if (options.signal !== undefined) return resolve(lock, options);
  if (areSame(options, lastGiven)) return lastResolved;
  const resolved = resolve(lock, options);
  // One by one: options may be inherited.
  const { lease, wait, renew, maxHold, label, reentrant } = options;
  lastGiven = { lease, wait, renew, maxHold, label, reentrant };
  lastResolved = resolved;
  return resolved;
}

function areSame(some: AcquireOptions, others: Given): boolean {
  return (
    some.lease === others.lease &&
    some.wait === others.wait &&
    some.renew === others.renew &&
    some.maxHold === others.maxHold &&
    some.label === others.label &&
    some.reentrant === others.reentrant
  );
}

function resolve(lock: string, options: AcquireOptions): ResolvedOptions {
  const { lease = '30s', wait = '10s', maxHold = Number.POSITIVE_INFINITY } = options;
  return {
    leaseMs: durationMs(lease, 'lease', lock, { leastMs: SHORTEST_LEASE_MS }),
    waitMs: durationMs(wait, 'wait', lock, { leastMs: 0, endless: true }),
    maxHoldMs: durationMs(maxHold, 'maxHold', lock, { leastMs: SHORTEST_LEASE_MS, endless: true }),
    signal: checkSignal(lock, options.signal ?? undefined),
    renews: checkFlag(lock, options.renew ?? true, 'renew'),
    label: checkLabel(lock, options.label ?? ''),
    isReentrant: checkFlag(lock, options.reentrant ?? false, 'reentrant'),
  };
}

/** What fails only after the store was asked would leave a lock behind that nobody holds. */
function checkSignal(lock: string, signal: AbortSignal | undefined): AbortSignal | undefined {
  if (signal === undefined || isSignal(signal)) return signal;
  throw new LockArgumentError(
    lock,
    'signal must be an AbortSignal, such as AbortSignal.timeout(500) or the signal of an AbortController',
  );
}

/** Told by its shape: it may be of another copy of the class. */
function isSignal({ aborted, addEventListener, removeEventListener }: AbortSignal): boolean {
  const methods = [addEventListener, removeEventListener];
  return typeof aborted === 'boolean' && methods.every((method) => typeof method === 'function');
}

/** `'false'`, as a variable of the environment has it, would mean true. */
function checkFlag(lock: string, flag: boolean, option: string): boolean {
  if (typeof flag === 'boolean') return flag;
  throw new LockArgumentError(lock, `${option} must be true or false; got ${String(flag)}`);
}

/** Misspelt, it would be left out: a lock would be waited for, or kept, for another time than was meant. */
function refuseOthers(lock: string, options: object): void {
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
  'label',
  'reentrant',
]);

function notOptions(lock: string, given: unknown): LockArgumentError {
  return new LockArgumentError(
    lock,
    `options are an object, such as { wait: '5s', lease: '30s' }; got ${String(given)}`,
  );
}

/** The label is part of the value of a lock, which every client that waits reads. */
const MAX_LABEL_BYTES = 1024;

function checkLabel(lock: string, label: string): string {
  if (typeof label !== 'string') {
    throw new LockArgumentError(lock, `label must be a string; got ${String(label)}`);
  }
  // A char has at most three bytes.
  if (label.length <= MAX_LABEL_BYTES / 3) return label;
  const bytes = Buffer.byteLength(label);
  if (bytes <= MAX_LABEL_BYTES) return label;
  throw new LockArgumentError(
    lock,
    `label has at most ${MAX_LABEL_BYTES} bytes; this one has ${bytes}. Shorten it.`,
  );
}

const DEFAULTS = resolve('', {});
let lastGiven: Given = {};
let lastResolved = DEFAULTS;

const LONGEST_NAME_BYTES = 1024;
const HALF_A_CHARACTER =
  'the name of a lock has half a character (a lone surrogate), which others would not see. Use name.toWellFormed(), or a hash of it.';

/** A name that can be a lock's, in any language and with any bytes. */
export function checkName(name: string): string {
  if (typeof name !== 'string' || name === '') {
    throw new LockArgumentError('', 'a lock needs a name: a string that is not empty');
  }
  if (!name.isWellFormed()) throw new LockArgumentError(name, HALF_A_CHARACTER);
  // A char has at most three bytes.
  if (name.length <= LONGEST_NAME_BYTES / 3) return name;
  const bytes = Buffer.byteLength(name);
  if (bytes <= LONGEST_NAME_BYTES) return name;
  throw new LockArgumentError(
    `${name.slice(0, 32)}…`,
    `the name of a lock has at most ${LONGEST_NAME_BYTES} bytes; this one has ${bytes}. Use a hash of it.`,
  );
}

/** How many of something: a whole number from 1 on. */
export function checkCount(lock: string, count: number, option: string, most: number): number {
  if (Number.isSafeInteger(count) && count >= 1 && count <= most) return count;
  throw new LockArgumentError(
    lock,
    `${option} must be a whole number from 1 to ${most}; got ${String(count)}`,
  );
}

/** A number in its place, or a word that is misspelt, would take one permit where several were meant. */
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
  // Not by map(), which leaves out holes.
  return Array.from(names, checkName);
}
