import type { Script, ScriptRunner } from '../../client/index.ts';
import { type Clock, systemClock } from '../../clock/index.ts';
import { warnOfEviction } from './eviction.ts';
import { guardSlot, isMoving } from './moving-slot.ts';
import type { RedisLink } from './redis-link.ts';
import { subscribe } from './subscription.ts';

/** Runs scripts over a link, and receives messages on one connection of its own. Closing it closes the link. */
export function linkRunner(link: RedisLink): ScriptRunner {
  return new LinkRunner(link, systemClock);
}

/** How long to retry a call while its slot moves, and the pause between two: well within the request timeout. */
const MOVE_MS = 2000;
const MOVE_PAUSE_MS = 50;

class LinkRunner implements ScriptRunner {
  readonly slotOf?: (key: string) => number;
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #hasCheckedEviction = false;

  constructor(link: RedisLink, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
    if (link.slotOf) this.slotOf = link.slotOf;
  }

  run(script: Script, keys: string[], args: string[]): Promise<unknown> {
    const running =
      this.slotOf === undefined
        ? this.#send(script, keys, args)
        : this.#sendToSlot(script, keys, args);
    if (!this.#hasCheckedEviction) this.#checkEviction();
    return running;
  }

  async listen(
    channel: string,
    onMessage: (text: string) => void,
    onGap: () => void,
    onLost?: () => void,
  ): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) throw new Error('the store is closed');
    const open: RedisLink['subscribe'] = (...args) => this.#link.subscribe(...args);
    await subscribe(open, { channel, onMessage, onGap, onLost, signal, clock: this.#clock });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#link.close?.();
  }

  /** A script that the server does not know is sent again with its text. */
  async #send({ text, sha }: Script, keys: string[], args: string[]): Promise<unknown> {
    try {
      return await this.#link.evalsha(sha, keys, args);
    } catch (error) {
      if (!isUnknownScript(error)) throw error;
      return this.#link.eval(text, keys, args);
    }
  }

  async #sendToSlot(script: Script, keys: string[], args: string[]): Promise<unknown> {
    const guarded = guardSlot(script, keys);
    const untilMs = this.#clock.monotonicMs() + MOVE_MS;
    for (;;) {
      try {
        return await this.#send(guarded.script, guarded.keys, args);
      } catch (error) {
        if (!isMoving(error) || this.#clock.monotonicMs() > untilMs) throw error;
        await new Promise<void>((resolve) => this.#clock.setTimer(MOVE_PAUSE_MS, resolve));
      }
    }
  }

  /** In the background: no request waits for it or fails with it. */
  #checkEviction(): void {
    this.#hasCheckedEviction = true;
    this.#link.info('memory').then(warnOfEviction, () => {});
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
