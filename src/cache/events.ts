import diagnostics from 'node:diagnostics_channel';

/** Events for `diagnostics_channel.subscribe('holdfast:cache:hit', listener)`. */
export interface CacheEvents {
  /** Each call of `get` is one of hit, stale and miss. The caller got a fresh value. */
  hit: KeyEvent;
  /** The caller got a stale value. */
  stale: KeyEvent;
  /** There was no value, or the caller waited for a new one. */
  miss: KeyEvent;
  /** Another process loads, and this process waits for the value. */
  wait: KeyEvent;
  /** A caller has waited for a load, of this process or another. */
  waited: KeyEvent & { readonly waitedMs: number; readonly outcome: 'value' | 'stale' | 'error' };
  /** A load begins. */
  load: LoadEvent;
  /** A load has returned a value. Not kept: the key was written, set or deleted during the load. */
  write: LoadEvent & { readonly loadMs: number; readonly isKept: boolean };
  /** A load has failed. No caller loads for `pauseMs`. */
  fail: LoadEvent & { readonly loadMs: number; readonly error: unknown; readonly pauseMs: number };
  /** The lease of a load ended before the load did. */
  lose: LoadEvent;
  /** A value was set by `set`. */
  set: KeyEvent;
  delete: { readonly keys: readonly string[] };
  invalidate: { readonly tags: readonly string[] };
}

interface KeyEvent {
  readonly key: string;
}

interface LoadEvent extends KeyEvent {
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
  set: diagnostics.channel('holdfast:cache:set'),
  delete: diagnostics.channel('holdfast:cache:delete'),
  invalidate: diagnostics.channel('holdfast:cache:invalidate'),
} as const satisfies Record<keyof CacheEvents, diagnostics.Channel>;

/** How often each event has happened in one cache. */
export type CacheCounts = Record<keyof CacheEvents, number>;

/** Counts events and publishes them to subscribers. */
export class EventPublisher {
  readonly counts = Object.fromEntries(
    Object.keys(CHANNELS).map((name) => [name, 0]),
  ) as CacheCounts;

  publish<Name extends keyof CacheEvents>(name: Name, event: CacheEvents[Name]): void {
    this.counts[name]++;
    const channel = CHANNELS[name];
    if (channel.hasSubscribers) channel.publish(event);
  }

  /** For the most frequent events: allocates an object only if there are subscribers. */
  publishKey(name: 'hit' | 'stale' | 'miss' | 'wait', key: string): void {
    this.counts[name]++;
    const channel = CHANNELS[name];
    if (channel.hasSubscribers) channel.publish({ key });
  }
}
