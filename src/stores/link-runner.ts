import { systemClock } from '../clock/index.ts';
import { warnOfEviction } from './eviction.ts';
import type { RedisLink } from './redis-link.ts';
import type { Script, ScriptRunner } from './script-store.ts';
import { subscribe } from './subscription.ts';

/** Runs scripts over a link, and hears messages on one connection of its own. */
export function linkRunner(link: RedisLink): ScriptRunner {
  return new LinkRunner(link);
}

class LinkRunner implements ScriptRunner {
  readonly slotOf?: (key: string) => number;
  readonly #link: RedisLink;
  readonly #closing = new AbortController();
  #hasAnswered = false;

  constructor(link: RedisLink) {
    this.#link = link;
    if (link.slotOf) this.slotOf = link.slotOf;
  }

  /** The one place where a script that the server has forgotten is sent again. */
  async run({ sha, text }: Script, keys: string[], args: string[]): Promise<unknown> {
    const reply = await this.#link.evalsha(sha, keys, args).catch((error: unknown) => {
      if (!isUnknownScript(error)) throw error;
      return this.#link.eval(text, keys, args);
    });
    if (!this.#hasAnswered) this.#checkEviction();
    return reply;
  }

  async listen(
    channel: string,
    onMessage: (text: string) => void,
    onGap: () => void,
  ): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) throw new Error('the store is closed');
    const hear: RedisLink['hear'] = (...hearing) => this.#link.hear(...hearing);
    await subscribe(hear, { channel, onMessage, onGap, signal, clock: systemClock });
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }

  /** In the background: no request waits for it or fails with it. */
  #checkEviction(): void {
    this.#hasAnswered = true;
    this.#link.info('memory').then(warnOfEviction, () => {});
  }
}

function isUnknownScript(error: unknown): boolean {
  return String((error as Error | undefined)?.message).startsWith('NOSCRIPT');
}
