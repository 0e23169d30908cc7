import type { Grant, StoreView } from '../store-view.ts';
import { type Client, clientOfOwner, type Held } from './client.ts';

/** The leases that were stolen. */
export class Thefts {
  readonly #byFence = new Map<number, Theft>();

  /** A request that steals was executed: records the leases of others that it ended. */
  stored(before: StoreView, after: StoreView, nowMs: number, clients: readonly Client[]): void {
    const fences = new Set(after.grants.map(({ fence }) => fence));
    for (const { fence, owner, endMs } of before.grants) {
      if (fences.has(fence) || endMs <= nowMs) continue;
      const holder = clients.find(({ name }) => name === clientOfOwner(owner))!;
      this.#byFence.set(fence, { endMs, wasSubscribed: holder.channel !== undefined });
    }
  }

  /** A former holder that has not been notified may use a stolen lease until the time at which it would have ended. */
  isExcused({ lease }: Held, nowMs: number): boolean {
    const theft = this.#byFence.get(lease.fence);
    return theft !== undefined && nowMs < theft.endMs;
  }

  /** Nothing is in transit and nothing was lost: a former holder that receives messages must know of the theft. */
  isUnnoticed({ lease, isSignalled }: Held): boolean {
    const isNotified = !lease.isHeld && isSignalled !== false;
    return this.#byFence.get(lease.fence)?.wasSubscribed === true && !isNotified;
  }
}

interface Theft {
  /** When the stolen lease would have ended. */
  readonly endMs: Grant['endMs'];
  /** Whether its holder was subscribed to its channel. */
  readonly wasSubscribed: boolean;
}
