import { type Clock, systemClock } from '../clock/index.ts';
import type { Hearer } from '../lock/index.ts';
import { warnOfEviction } from './eviction.ts';
import { guardSlot, isMoving } from './moving-slot.ts';
import type { RedisLink } from './redis-link.ts';
import { type Script, type ScriptRunner, tell } from './script-runner.ts';
import { subscribe } from './subscription.ts';

/** Runs scripts over a link, and hears messages on one connection of its own. `onClose` closes what is ours. */
export function linkRunner(link: RedisLink, onClose: () => void = () => {}): ScriptRunner {
  return new LinkRunner(link, systemClock, onClose);
}

/** How long a slot that moves is asked again, and how often: well within the time of a request. */
const MOVE_MS = 2000;
const MOVE_PAUSE_MS = 50;

class LinkRunner implements ScriptRunner {
  readonly slotOf?: (key: string) => number;
  readonly #link: RedisLink;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #onClose: () => void;
  #hasAsked = false;

  constructor(link: RedisLink, clock: Clock, onClose: () => void) {
    this.#link = link;
    this.#onClose = onClose;
    this.#clock = clock;
    if (link.slotOf) this.slotOf = link.slotOf;
  }

  run(script: Script, keys: string[], args: string[]): Promise<unknown> {
    return new Promise((answered, failed) =>
      this.runAndTell(script, keys, args, { answered, failed }),
    );
  }

  runAndTell(script: Script, keys: string[], args: string[], hearer: Hearer<unknown>): void {
    const inCluster = this.slotOf !== undefined;
    if (inCluster) this.#sendToSlot(script, keys, args, hearer);
    else this.#send(script, keys, args, hearer);
    if (!this.#hasAsked) this.#checkEviction();
  }

  async listen(
    channel: string,
    onMessage: (text: string) => void,
    onGap: () => void,
  ): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) throw new Error('the store is closed');
    const hear: RedisLink['hear'] = (...hearing) => this.#link.hear(...hearing);
    await subscribe(hear, { channel, onMessage, onGap, signal, clock: this.#clock });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#onClose();
  }

  #send(script: Script, keys: string[], args: string[], hearer: Hearer<unknown>): void {
    this.#link.evalsha(script.sha, keys, args, new Call(this.#link, script, keys, args, hearer));
  }

  #sendToSlot(script: Script, keys: string[], args: string[], hearer: Hearer<unknown>): void {
    const guarded = guardSlot(script, keys);
    const untilMs = this.#clock.monotonicMs() + MOVE_MS;
    const send = (): void =>
      this.#send(guarded.script, guarded.keys, args, {
        answered: (reply) => hearer.answered(reply),
        failed: (error) => {
          const isOver = !isMoving(error) || this.#clock.monotonicMs() > untilMs;
          if (isOver) hearer.failed(error);
          else this.#clock.setTimer(MOVE_PAUSE_MS, send);
        },
      });
    send();
  }

  /** In the background: no request waits for it or fails with it. */
  #checkEviction(): void {
    this.#hasAsked = true;
    this.#link.info('memory').then(warnOfEviction, () => {});
  }
}

/** The one place where a script that the server has forgotten is sent again. */
class Call implements Hearer<unknown> {
  readonly #link: RedisLink;
  readonly #script: Script;
  readonly #keys: string[];
  readonly #args: string[];
  readonly #hearer: Hearer<unknown>;

  constructor(
    link: RedisLink,
    script: Script,
    keys: string[],
    args: string[],
    hearer: Hearer<unknown>,
  ) {
    this.#link = link;
    this.#script = script;
    this.#keys = keys;
    this.#args = args;
    this.#hearer = hearer;
  }

  answered(reply: unknown): void {
    this.#hearer.answered(reply);
  }

  failed(error: unknown): void {
    if (isUnknownScript(error)) tell(this.#hearer, this.#again());
    else this.#hearer.failed(error);
  }

  async #again(): Promise<unknown> {
    return this.#link.eval(this.#script.text, this.#keys, this.#args);
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
