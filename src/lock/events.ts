import diagnostics from 'node:diagnostics_channel';
import type { LockErrorCode, LossReason } from './errors.ts';
import type { ReleaseOutcome } from './lease.ts';
import type { LockKind, LockRequest } from './store.ts';

/**
 * What can be observed by `diagnostics_channel.subscribe('holdfast:grant', listener)`. An `acquire` is
 * followed by one `grant` or one `fail`; a `grant` by one `release`, `lose` or `transfer`.
 */
export interface LockEvents {
  /** Somebody asks. */
  acquire: Asked;
  /** It is busy, and they stand in line. */
  wait: Asked;
  grant: Granted & { readonly waitedMs: number };
  /** They did not get it: it stayed busy, they gave up, or the store did not answer. `busy`: they did not wait. */
  fail: Asked & { readonly code: LockErrorCode | 'busy'; readonly waitedMs: number };
  renew: Granted;
  lose: Granted & { readonly reason: LossReason; readonly heldMs: number };
  release: Granted & { readonly outcome: ReleaseOutcome; readonly heldMs: number };
  /** It was given away, for another process to adopt. */
  transfer: Granted & { readonly heldMs: number };
  /** An operator took the lock from its holders. */
  force: { readonly lock: string; readonly kind: LockKind; readonly holders: number };
}

interface Asked {
  readonly lock: string;
  readonly kind: LockKind;
  /** The name of this one acquisition, the same in all of its events. */
  readonly owner: string;
}

interface Granted extends Asked {
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

/** The event is made only if somebody listens. */
export function announce<Name extends keyof LockEvents>(
  name: Name,
  event: () => LockEvents[Name],
): void {
  const channel = CHANNELS[name];
  if (channel.hasSubscribers) channel.publish(event());
}

export function announceAcquire(request: LockRequest): void {
  announce('acquire', () => asked(request));
}

export function announceWait(request: LockRequest): void {
  announce('wait', () => asked(request));
}

export function announceGrant(request: LockRequest, fence: number, waitedMs: number): void {
  announce('grant', () => ({ ...asked(request), fence, waitedMs }));
}

export function announceFail(
  request: LockRequest,
  code: LockEvents['fail']['code'],
  waitedMs: number,
): void {
  announce('fail', () => ({ ...asked(request), code, waitedMs }));
}

export function asked({ name, kind, owner }: LockRequest): Asked {
  return { lock: name, kind, owner };
}
