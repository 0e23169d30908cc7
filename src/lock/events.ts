import diagnostics from 'node:diagnostics_channel';
import type { LockErrorCode, LossReason } from './errors.ts';
import type { ReleaseOutcome } from './lease.ts';
import type { LockKind, LockRequest } from './store.ts';

/**
 * The events of `diagnostics_channel.subscribe('holdfast:grant', listener)`. Each `acquire` is followed by one `grant`
 * or one `fail`; each `grant` by one `release`, `lose` or `transfer`.
 */
export interface LockEvents {
  /** A caller requests a lock. */
  acquire: RequestEvent;
  /** The lock is busy, and the request is in the queue. At most once for each acquisition. */
  wait: RequestEvent;
  /** The lock is held from now on. */
  grant: LeaseEvent & { readonly waitedMs: number };
  /** The lock was not granted. `busy`: it was not free, and the caller did not wait. */
  fail: RequestEvent & { readonly code: LockErrorCode | 'busy'; readonly waitedMs: number };
  /** The store has extended the lease. */
  renew: LeaseEvent;
  /** The lease ended before its holder released it. */
  lose: LeaseEvent & { readonly reason: LossReason; readonly heldMs: number };
  /** The holder released the lock. `unknown`: the store did not reply in time. */
  release: LeaseEvent & { readonly outcome: ReleaseOutcome; readonly heldMs: number };
  /** The holder transferred the lease, so that another process can adopt it. */
  transfer: LeaseEvent & { readonly heldMs: number };
  /** forceRelease() ended all leases of a lock. */
  force: { readonly lock: string; readonly kind: LockKind; readonly holders: number };
}

interface RequestEvent {
  readonly lock: string;
  readonly kind: LockKind;
  /** The id of the acquisition, the same in all of its events. */
  readonly owner: string;
}

interface LeaseEvent extends RequestEvent {
  readonly fence: number;
}

const CHANNELS = {
  acquire: diagnostics.channel('holdfast:acquire'),
  wait: diagnostics.channel('holdfast:wait'),
  grant: diagnostics.channel('holdfast:grant'),
  fail: diagnostics.channel('holdfast:fail'),
  renew: diagnostics.channel('holdfast:renew'),
  lose: diagnostics.channel('holdfast:lose'),
  release: diagnostics.channel('holdfast:release'),
  transfer: diagnostics.channel('holdfast:transfer'),
  force: diagnostics.channel('holdfast:force'),
} as const satisfies Record<keyof LockEvents, diagnostics.Channel>;

export function isObserved(name: keyof LockEvents): boolean {
  return CHANNELS[name].hasSubscribers;
}

/** Publishes an event. It is created only if the channel has subscribers. */
export function announce<Name extends keyof LockEvents>(
  name: Name,
  event: () => LockEvents[Name],
): void {
  const channel = CHANNELS[name];
  if (channel.hasSubscribers) channel.publish(event());
}

export function announceAcquire(request: LockRequest): void {
  announce('acquire', () => requestEvent(request));
}

export function announceWait(request: LockRequest): void {
  announce('wait', () => requestEvent(request));
}

export function announceGrant(request: LockRequest, fence: number, waitedMs: number): void {
  announce('grant', () => ({ ...requestEvent(request), fence, waitedMs }));
}

export function announceFail(
  request: LockRequest,
  code: LockEvents['fail']['code'],
  waitedMs: number,
): void {
  announce('fail', () => ({ ...requestEvent(request), code, waitedMs }));
}

export function requestEvent({ name, kind, owner }: LockRequest): RequestEvent {
  return { lock: name, kind, owner };
}
