import { throwIfOver } from './attempt.ts';
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

/** The lease is as long as it was for the process that gave it away, unless another one is given. */
export type AdoptOptions = Pick<
  AcquireOptions,
  'lease' | 'renew' | 'maxHold' | 'keepFor' | 'label'
>;

const NO_SIGNAL = { signal: undefined } as const;

/** For how long a store that fails is tried again. */
const PERSIST_MS = 2000;

/** Takes over what another process gave away, with a new fence: only one can, and only in time. */
export function adopt(core: LockCore, text: string, options: AdoptOptions = {}): Promise<Lease> {
  const adopted = adoptAll(core, text, options);
  // What is under way when the library is closed may be granted, and is then to be given back.
  core.track(adopted);
  return adopted;
}

async function adoptAll(core: LockCore, text: string, options: AdoptOptions): Promise<Lease> {
  const given = parseTransfer(text);
  throwIfOver(core, given[0]!.name, NO_SIGNAL);
  const adopted = await Promise.allSettled(given.map((each) => adoptOne(core, each, options)));
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
  given: LockRequest,
  options: AdoptOptions,
): Promise<StoreLease> {
  const { label, ...held } = core.options.resolve(given.name, options);
  const leaseMs = options.lease === undefined ? given.leaseMs : held.leaseMs;
  const request = { ...given, leaseMs, owner: core.newOwner(), info: core.infoOf(label) };
  const sentMs = core.clock.monotonicMs();
  const sentWallMs = core.clock.wallMs();
  const waitedMs = (): number => core.clock.monotonicMs() - sentMs;
  announceAcquire(request);
  const fence = await askToAdopt(core, request, given).catch((error: LockError) => {
    announceFail(request, error.code, waitedMs());
    // It may be ours, and the answers have been lost.
    if (error instanceof LockUnavailableError) core.giveBack(request);
    throw error;
  });
  if (core.closed !== undefined) core.giveBack(request);
  throwIfOver(core, request.name, NO_SIGNAL);
  const lease = new StoreLease(core, request, held);
  lease.begin(fence, sentMs, sentWallMs);
  announceGrant(request, fence, waitedMs());
  // It took so long that it may have ended; if it has not, nobody is to wait for it.
  if (!lease.isHeld) core.giveBack(request);
  lease.assertHeld();
  return lease;
}

async function askToAdopt(
  core: LockCore,
  request: LockRequest,
  given: LockRequest,
): Promise<number> {
  const result = await persist(core, given.name, () => core.store.adopt(request, given));
  if (result.type === 'granted') return result.fence;
  throw new NotHeldError(given.name, new Error('it was given away too long ago'));
}

/** All of them get the largest fence, as when they were taken. */
async function groupOf(core: LockCore, leases: readonly StoreLease[]): Promise<Lease> {
  const fence = Math.max(...leases.map((lease) => lease.fence));
  try {
    for (const lease of leases) await raise(core, lease, fence);
    return new GroupLease(leases, fence);
  } catch (error) {
    // One that was lost may have been taken anew when its fence was raised.
    for (const { isHeld, request } of leases) if (!isHeld) core.giveBack(request);
    await Promise.all(leases.map((lease) => lease.release()));
    throw error;
  }
}

async function raise(core: LockCore, lease: StoreLease, fence: number): Promise<void> {
  const { request, name } = lease;
  const result = await persist(core, name, () => core.store.acquireAll([request], fence));
  if (result?.type !== 'granted' || result.fence !== fence) throw new NotHeldError(name);
  lease.fence = fence;
}

/** The same request is safe to repeat. */
function persist<Result extends AcquireResult | undefined>(
  core: LockCore,
  name: string,
  ask: () => Promise<Result>,
): Promise<Result> {
  return retry(core, PERSIST_MS, ask).catch((error: unknown) => {
    throw new LockUnavailableError(name, error);
  });
}
