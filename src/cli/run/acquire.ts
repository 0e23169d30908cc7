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
  /** Gives up waiting. */
  readonly signal: AbortSignal;
  readonly waitStatus: WaitStatus;
  /** Told what the user should know, in a sentence. */
  readonly report: (message: string) => void;
  /** Whether this is run by a command that a run has started. */
  readonly isNested: boolean;
}

/** Takes the locks one after the other, or none of them. Throws RunError if busy, else as the library does. */
export async function acquireAll(
  locks: readonly Lock[],
  options: AcquireAllOptions,
): Promise<LeaseGroup> {
  const { request, clock, signal } = options;
  const untilMs = clock.monotonicMs() + request.waitMs;
  const leases: Lease[] = [];
  try {
    for (const lock of locks) {
      // What was taken already may be lost while the next one is waited for.
      const either = AbortSignal.any([signal, ...leases.map((lease) => lease.signal)]);
      leases.push(await take(lock, { ...options, signal: either, untilMs }));
    }
    for (const lease of leases) lease.assertHeld();
    return new LeaseGroup(leases);
  } catch (error) {
    await Promise.all(leases.map((lease) => lease.release()));
    throw error;
  }
}

/**
 * Asks once before it waits: a store that cannot be reached from the start is told at once, while one
 * that goes away later is asked again for as long as there is patience.
 */
async function take(lock: Lock, options: AcquireAllOptions & { untilMs: number }): Promise<Lease> {
  const { request, clock, signal, waitStatus, untilMs } = options;
  const how = { lease: request.leaseMs, label: request.label, signal };
  const lease = await lock.tryAcquire(how);
  if (lease !== null) return lease;
  if (options.isNested && request.waitMs > 0) await warnOfDeadlock(lock, options.report);
  const waitMs = Math.max(0, untilMs - clock.monotonicMs());
  try {
    using _shown = waitStatus.show(lock);
    return await lock.acquire({ ...how, wait: waitMs });
  } catch (error) {
    throw error instanceof LockTimeoutError ? await busyError(lock) : error;
  }
}

async function busyError(lock: Lock): Promise<RunError> {
  const holder = await lock.inspect().then(describe, () => 'nobody knows by whom');
  return new RunError('busy', `lock '${lock.name}' is busy: ${holder}.`);
}

/** It is only told: who is left to itself by its parents may well wait for them. */
async function warnOfDeadlock(lock: Lock, report: AcquireAllOptions['report']): Promise<void> {
  const inspection = await lock.inspect().catch(() => undefined);
  const { ancestorAmong } = await import('./ancestors.ts');
  const holders = inspection?.holders ?? [];
  const holder = ancestorAmong(holders.filter((each) => !each.foreign));
  if (holder === undefined) return;
  report(
    `lock '${lock.name}' is held by pid ${holder.pid}, which this was started by: if that waits for this, neither goes on.`,
  );
}
