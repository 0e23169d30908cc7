import type { StoreView } from '../store-view.ts';
import { clientOfOwner, type Held } from './client.ts';

/** The leases that their holders have released with `keepFor`: the lock must stay taken until its end. */
export class KeptLeases {
  readonly #fences = new Set<number>();
  /** For each kept fence, the time until which the store must keep it. */
  readonly #untilMs = new Map<number, number>();

  /** The holder releases this lease. The store may keep it, also if the reply is lost. */
  releasing(fence: number): void {
    this.#fences.add(fence);
  }

  has(fence: number): boolean {
    return this.#fences.has(fence);
  }

  /**
   * The release has returned `kept`. `keepFor` counts from when the holder sent the request that was granted, and the
   * request that keeps the lease may take time. Without delays the end is exact. Returns what is wrong.
   */
  released(held: Held, view: StoreView, nowMs: number, isExact: boolean): string | undefined {
    const { client, lease, keepFor, enteredMs } = held;
    const { fence } = lease;
    const startMs = isExact ? enteredMs : keepFor!.requestedMs;
    const untilMs = startMs + keepFor!.durationMs;
    this.#untilMs.set(fence, untilMs);
    const endMs = view.grants.find((grant) => grant.fence === fence)?.endMs ?? 0;
    const isShort = endMs < untilMs - ROUNDING_MS && nowMs < untilMs - ROUNDING_MS;
    const isLong = isExact && endMs > untilMs + ROUNDING_MS;
    if (!isShort && !isLong) return undefined;
    return `${client.name} keeps the lock until ${endMs} ms instead of ${untilMs} ms`;
  }

  /** The release has returned `released`. Returns what is wrong if `keepFor` is not over. */
  freed({ client, keepFor }: Held, nowMs: number): string | undefined {
    const untilMs = keepFor!.requestedMs + keepFor!.durationMs;
    if (nowMs >= untilMs - ROUNDING_MS) return undefined;
    return `${client.name} releases the lock, which it must keep until ${untilMs} ms`;
  }

  /** Returns what is wrong if a request has ended a kept lease, or shortened it. */
  stored(before: StoreView, after: StoreView, nowMs: number): string | undefined {
    for (const { fence, owner } of before.grants) {
      const untilMs = this.#untilMs.get(fence);
      if (untilMs === undefined || nowMs >= untilMs - ROUNDING_MS) continue;
      const endMs = after.grants.find((grant) => grant.fence === fence)?.endMs ?? nowMs;
      if (endMs >= untilMs - ROUNDING_MS) continue;
      return `the lease that ${clientOfOwner(owner)} keeps until ${untilMs} ms ends at ${endMs} ms`;
    }
    return undefined;
  }
}

/** Durations are sent as whole milliseconds. */
const ROUNDING_MS = 1;
