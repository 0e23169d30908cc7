import diagnostics from 'node:diagnostics_channel';
import type { LossReason } from './errors.ts';

/** What can be observed by `diagnostics_channel.subscribe('holdfast:grant', listener)`. */
export interface LockEvents {
  /** Somebody asks. */
  acquire: { lock: string; owner: string };
  /** It is busy, and they stand in line. */
  wait: { lock: string; owner: string };
  grant: { lock: string; owner: string; fence: number; waitedMs: number };
  renew: { lock: string; owner: string; fence: number };
  lose: { lock: string; owner: string; fence: number; reason: LossReason; heldMs: number };
  release: { lock: string; owner: string; fence: number; heldMs: number };
  /** An operator took the lock from its holders. */
  force: { lock: string; holders: number };
}

const CHANNELS = {
  acquire: diagnostics.channel('holdfast:acquire'),
  wait: diagnostics.channel('holdfast:wait'),
  grant: diagnostics.channel('holdfast:grant'),
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
