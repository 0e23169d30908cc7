import diagnostics from 'node:diagnostics_channel';

/** What can be observed by `diagnostics_channel.subscribe('holdfast:cache:hit', listener)`. */
export interface CacheEvents {
  /** Each call of `get` is one of three. A fresh value was given out. */
  hit: Asked;
  /** A stale value was given out. */
  stale: Asked;
  /** There was no value, or none that the caller would take: it waits for a load. */
  miss: Asked;
  /** Somebody else loads; this process waits for what comes of it. */
  wait: Asked;
  /** A caller has waited for a load, here or elsewhere. */
  waited: Asked & { readonly waitedMs: number; readonly outcome: 'value' | 'stale' | 'error' };
  /** A load begins. */
  load: Loading;
  /** A load has ended with a value. Not kept: a newer one was there, or it was deleted meanwhile. */
  write: Loading & { readonly loadMs: number; readonly isKept: boolean };
  /** A load has failed, and nobody loads for a while. */
  fail: Loading & { readonly loadMs: number; readonly error: unknown; readonly pauseMs: number };
  /** The loader lost its lease while it loaded. */
  lose: Loading;
  delete: { readonly keys: readonly string[] };
  invalidate: { readonly tags: readonly string[] };
}

interface Asked {
  readonly key: string;
}

interface Loading extends Asked {
  readonly fence: number;
}

const CHANNELS = {
  hit: diagnostics.channel('holdfast:cache:hit'),
  stale: diagnostics.channel('holdfast:cache:stale'),
  miss: diagnostics.channel('holdfast:cache:miss'),
  wait: diagnostics.channel('holdfast:cache:wait'),
  waited: diagnostics.channel('holdfast:cache:waited'),
  load: diagnostics.channel('holdfast:cache:load'),
  write: diagnostics.channel('holdfast:cache:write'),
  fail: diagnostics.channel('holdfast:cache:fail'),
  lose: diagnostics.channel('holdfast:cache:lose'),
  delete: diagnostics.channel('holdfast:cache:delete'),
  invalidate: diagnostics.channel('holdfast:cache:invalidate'),
} as const satisfies Record<keyof CacheEvents, diagnostics.Channel>;

/** How often each has happened in one cache. */
export type CacheCounts = Record<keyof CacheEvents, number>;

/** Counts, and tells who listens. */
export class EventPublisher {
  readonly counts = Object.fromEntries(
    Object.keys(CHANNELS).map((name) => [name, 0]),
  ) as CacheCounts;

  publish<Name extends keyof CacheEvents>(name: Name, event: CacheEvents[Name]): void {
    this.counts[name]++;
    const channel = CHANNELS[name];
    if (channel.hasSubscribers) channel.publish(event);
  }

  /** What happens most often makes no object unless somebody listens. */
  publishKey(name: 'hit' | 'stale' | 'miss' | 'wait', key: string): void {
    this.counts[name]++;
    const channel = CHANNELS[name];
    if (channel.hasSubscribers) channel.publish({ key });
  }
}
