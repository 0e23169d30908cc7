import type { ScriptRunner } from '../client/index.ts';
import type { Clock } from '../clock/index.ts';
import { CHANGES_CHANNEL } from './redis-cache-script.ts';
import type { CacheChange, CacheChanges, ChangeListener } from './store.ts';

/** Pause after a failed attempt to subscribe. */
const PAUSE_MS = 1000;

type State = 'closed' | 'opening' | 'live' | 'lost';

/** One subscription to the changes of all values and tags of a server, for all memory tiers of a store. */
export class ChangeFeed implements CacheChanges {
  readonly #runner: ScriptRunner;
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #listeners = new Set<ChangeListener>();
  #state: State = 'closed';
  #notBeforeMs = 0;

  constructor(runner: ScriptRunner, clock: Clock, prefix: string) {
    this.#runner = runner;
    this.#clock = clock;
    this.#prefix = prefix;
  }

  /** After the first success the runner itself reconnects. */
  start(): void {
    if (this.#state !== 'closed' || this.#clock.monotonicMs() < this.#notBeforeMs) return;
    this.#state = 'opening';
    const onMessage = (text: string): void => this.#onMessage(text);
    const onLost = (): void => this.#lose();
    const onGap = (): void => this.#goLive();
    this.#runner.listen(CHANGES_CHANNEL, onMessage, onGap, onLost).then(
      () => {
        // The connection may have ended since the subscription was confirmed.
        if (this.#state === 'opening') this.#goLive();
      },
      () => {
        this.#state = 'closed';
        this.#notBeforeMs = this.#clock.monotonicMs() + PAUSE_MS;
      },
    );
  }

  add(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    if (this.#state === 'live') listener.onLive();
    return () => this.#listeners.delete(listener);
  }

  #goLive(): void {
    this.#state = 'live';
    for (const listener of this.#listeners) listener.onLive();
  }

  #lose(): void {
    this.#state = 'lost';
    for (const listener of this.#listeners) listener.onLost();
  }

  #onMessage(text: string): void {
    const change = toChange(text, this.#prefix);
    if (change === undefined) return;
    for (const listener of this.#listeners) listener.onChange(change);
  }
}

/**
 * The message is the name of a key in Redis. The client of the process that sent it may have added a prefix of its own.
 * Undefined: the key has another prefix, or is no key of a cache.
 */
function toChange(text: string, prefix: string): CacheChange | undefined {
  const [, before, kind, name] = /^(.*?)(value|tag):\{cache:(.*)\}$/s.exec(text) ?? [];
  if (name === undefined || !before!.endsWith(prefix)) return undefined;
  return kind === 'tag' ? { kind, tag: name } : { kind: 'value', key: name };
}
