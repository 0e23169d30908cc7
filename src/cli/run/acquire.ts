import type { Clock } from '../../clock/index.ts';
import type { Lease, Lock } from '../../lock/index.ts';
import { LockTimeoutError } from '../../lock/index.ts';
import { RunError } from './exit-codes.ts';
import { LeaseGroup } from './lease-group.ts';
import type { RunRequest } from './run-options.ts';
import { describe, type WaitStatus } from './wait-status.ts';

interface AcquireAllOptions {
  readonly request: RunRequest;
  readonly clock: Clock;
  /** Aborts the wait. */
  readonly signal: AbortSignal;
  readonly waitStatus: WaitStatus;
  /** Prints a sentence for the user. */
  readonly report: (message: string) => void;
  /** Whether this run was started by the command of another run. */
  readonly isNested: boolean;
}

/**
 * Acquires the locks one after the other. Throws RunError if busy, else as the library does. Then the caller closes the
 * store, which releases the locks that were acquired, and keeps none for --keep-for.
 */
export async function acquireAll(
  locks: readonly Lock[],
  options: AcquireAllOptions,
): Promise<LeaseGroup> {
  const { request, clock, signal } = options;
  const untilMs = clock.monotonicMs() + request.waitMs;
  const leases: Lease[] = [];
  for (const lock of locks) {
    // A lease may be lost while the run waits for the next lock.
    const either = AbortSignal.any([signal, ...leases.map((lease) => lease.signal)]);
    leases.push(await acquire(lock, { ...options, signal: either, untilMs }));
  }
  for (const lease of leases) lease.assertHeld();
  return new LeaseGroup(leases);
}

/**
 * Tries once before it waits: a store that is unreachable at start fails at once, while a store that becomes
 * unreachable during the wait is retried until the wait timeout.
 */
async function acquire(
  lock: Lock,
  options: AcquireAllOptions & { readonly untilMs: number },
): Promise<Lease> {
  const { request, clock, signal, waitStatus, untilMs } = options;
  const { leaseMs, keepForMs, label } = request;
  const acquireOptions = { lease: leaseMs, keepFor: keepForMs, label, signal };
  const lease = await lock.tryAcquire(acquireOptions);
  if (lease !== null) return lease;
  if (options.isNested && request.waitMs > 0) await warnOfDeadlock(lock, options.report);
  const waitMs = Math.max(0, untilMs - clock.monotonicMs());
  try {
    using _shown = waitStatus.show(lock);
    return await lock.acquire({ ...acquireOptions, wait: waitMs });
  } catch (error) {
    throw error instanceof LockTimeoutError ? await busyError(lock) : error;
  }
}

async function busyError(lock: Lock): Promise<RunError> {
  const holder = await lock.inspect().then(describe, () => 'the holder is unknown');
  return new RunError('busy', `lock '${lock.name}' is busy: ${holder}.`);
}

/** Only a warning: a process that its parent does not wait for may wait for the lock of that parent. */
async function warnOfDeadlock(lock: Lock, report: AcquireAllOptions['report']): Promise<void> {
  const inspection = await lock.inspect().catch(() => undefined);
  const { ancestorAmong } = await import('./ancestors.ts');
  const holders = inspection?.holders ?? [];
  const holder = ancestorAmong(holders.filter((each) => !each.foreign));
  if (holder === undefined) return;
  report(
    `lock '${lock.name}' is held by pid ${holder.pid}, which started this run: if it waits for this run to end, this is a deadlock.`,
  );
}
