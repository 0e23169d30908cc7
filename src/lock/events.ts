import diagnostics from 'node:diagnostics_channel';
import type { LockErrorCode, LossReason } from './errors.ts';
import type { LockKind } from './store.ts';

/** What can be observed by `diagnostics_channel.subscribe('holdfast:grant', listener)`. */
export interface LockEvents {
  /** Somebody asks. */
  acquire: Asked;
  /** It is busy, and they stand in line. */
  wait: Asked;
  grant: Granted & { readonly waitedMs: number };
  /** They did not get it: it stayed busy, they gave up, or the store did not answer. */
  fail: Asked & { readonly code: LockErrorCode; readonly waitedMs: number };
  renew: Granted;
  lose: Granted & { readonly reason: LossReason; readonly heldMs: number };
  release: Granted & { readonly heldMs: number };
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
  force: diagnostics.channel('holdfast:force'),
} as const satisfies Record<keyof LockEvents, diagnostics.Channel>;

/** The event is made only if somebody listens. */
export function announce<Name extends keyof LockEvents>(
  name: Name,
  event: () => LockEvents[Name],
): void {
  const channel = CHANNELS[name];
  if (channel.hasSubscribers) channel.publish(event());
}
