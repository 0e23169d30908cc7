import { throwIfAborted } from './attempt.ts';
import type { LockCore } from './core.ts';
import { type LockError, LockUnavailableError, NotHeldError } from './errors.ts';
import { announceAcquire, announceFail, announceGrant } from './events.ts';
import { GroupLease } from './group-lease.ts';
import type { Lease } from './lease.ts';
import type { AcquireOptions } from './options.ts';
import { retry } from './retry.ts';
import type { AcquireResult, LockRequest } from './store.ts';
import { StoreLease } from './store-lease.ts';
import { parseTransfer } from './transfer.ts';

/** Options of `locks.adopt()`. Default of `lease`: the duration that it had in the process that transferred it. */
export type AdoptOptions = Pick<
  AcquireOptions,
  'lease' | 'renew' | 'maxHold' | 'keepFor' | 'label'
>;

const NO_SIGNAL = { signal: undefined } as const;

/** How long to retry a store that fails. */
const RETRY_MS = 2000;

/** Takes over a lease that another process transferred, with a new fence. Only one process can, before the lease ends. */
export function adopt(core: LockCore, text: string, options: AdoptOptions = {}): Promise<Lease> {
  const adopted = adoptAll(core, text, options);
  // close() waits for it: a request that is granted meanwhile must be released.
  core.track(adopted);
  return adopted;
}

async function adoptAll(core: LockCore, text: string, options: AdoptOptions): Promise<Lease> {
  const transferred = parseTransfer(text);
  throwIfAborted(core, transferred[0]!.name, NO_SIGNAL);
  const adopted = await Promise.allSettled(
    transferred.map((each) => adoptOne(core, each, options)),
  );
  const leases = adopted.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const failed = adopted.find((each) => each.status === 'rejected');
  if (failed !== undefined) {
    await Promise.all(leases.map((lease) => lease.release()));
    throw failed.reason;
  }
  return leases.length === 1 ? leases[0]! : groupOf(core, leases);
}

async function adoptOne(
  core: LockCore,
  from: LockRequest,
  options: AdoptOptions,
): Promise<StoreLease> {
  const { label, ...held } = core.options.resolve(from.name, options);
  const leaseMs = options.lease === undefined ? from.leaseMs : held.leaseMs;
  const request = { ...from, leaseMs, owner: core.newOwner(), info: core.infoOf(label) };
  const sentMs = core.clock.monotonicMs();
  const sentWallMs = core.clock.wallMs();
  const waitedMs = (): number => core.clock.monotonicMs() - sentMs;
  announceAcquire(request);
  const fence = await requestAdoption(core, request, from).catch((error: LockError) => {
    announceFail(request, error.code, waitedMs());
    // The store may have granted it, if only the replies were lost.
    if (error instanceof LockUnavailableError) core.releaseUnused(request);
    throw error;
  });
  if (core.closed !== undefined) core.releaseUnused(request);
  throwIfAborted(core, request.name, NO_SIGNAL);
  const lease = new StoreLease(core, request, held);
  lease.begin(fence, sentMs, sentWallMs);
  announceGrant(request, fence, waitedMs());
  // The reply took so long that the lease may have ended. If it has not, release it for the waiters.
  if (!lease.isHeld) core.releaseUnused(request);
  lease.assertHeld();
  return lease;
}

async function requestAdoption(
  core: LockCore,
  request: LockRequest,
  from: LockRequest,
): Promise<number> {
  const result = await withRetries(core, from.name, () => core.store.adopt(request, from));
  if (result.type === 'granted') return result.fence;
  throw new NotHeldError(from.name, new Error('it was given away too long ago'));
}

/** All members get the largest fence, as in `all()`. */
async function groupOf(core: LockCore, leases: readonly StoreLease[]): Promise<Lease> {
  const fence = Math.max(...leases.map((lease) => lease.grantFence));
  try {
    for (const lease of leases) await raise(core, lease, fence);
    return new GroupLease(leases, fence);
  } catch (error) {
    // Raising the fence of a lease that was lost may have acquired the lock again.
    for (const { isHeld, request } of leases) if (!isHeld) core.releaseUnused(request);
    await Promise.all(leases.map((lease) => lease.release()));
    throw error;
  }
}

async function raise(core: LockCore, lease: StoreLease, fence: number): Promise<void> {
  const { request, name } = lease;
  const result = await withRetries(core, name, () => core.store.acquireAll([request], fence));
  if (result?.type !== 'granted' || result.fence !== fence) throw new NotHeldError(name);
  lease.grantFence = fence;
}

/** Repeats a request for RETRY_MS. Every request to a store is idempotent. */
function withRetries<Result extends AcquireResult | undefined>(
  core: LockCore,
  name: string,
  send: () => Promise<Result>,
): Promise<Result> {
  return core.keepAlive(retry(core, RETRY_MS, send)).catch((error: unknown) => {
    throw new LockUnavailableError(name, error);
  });
}
