import { CachingLocks } from '../src/cache/caching-locks.ts';
import { type Cache, createCache, type Load, type LoadContext } from '../src/cache/index.ts';
import type { ScriptRunner } from '../src/client/index.ts';
import { type Clock, type Random, seededRandom, type VirtualClock } from '../src/clock/index.ts';
import type { Engine } from '../src/engine/index.ts';
import { RedisStore } from '../src/stores/index.ts';
import { engineRunner } from '../src/stores/redis/engine-runner.ts';

/** Everything that can happen without time has happened. */
export const turn = (): Promise<void> => new Promise(setImmediate);

export async function elapse(clock: VirtualClock, durationMs: number): Promise<void> {
  await turn();
  clock.advance(durationMs);
  await turn();
}

/** What became of it, as a value. */
export function settled<Value>(work: Promise<Value>): Promise<Value | Error> {
  return work.catch((error: Error) => error);
}

interface Loading<Value> extends LoadContext {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/** A load that ends when the test says so. */
export function heldLoad<Value>(): { load: Load<Value>; loads: Loading<Value>[] } {
  const loads: Loading<Value>[] = [];
  const load: Load<Value> = (context) =>
    new Promise((resolve, reject) => {
      loads.push({ ...context, resolve, reject });
    });
  return { load, loads };
}

/** Chance never decides for an early load. */
export function neverEarly(seed: number): Random {
  return { next: () => 0, bytes: (count) => seededRandom(seed).bytes(count) };
}

export interface Program {
  readonly cache: Cache;
  readonly locks: CachingLocks;
  /** The network between this program and the engine. */
  readonly network: Network;
}

/** One of several programs that share an engine as if it were a Redis. */
export function openProgram(engine: Engine, clock: Clock, number: number): Program {
  const network = new Network(engineRunner(engine));
  const options = { clock, clientId: `client${number}`, requestTimeoutMs: 5000 };
  const store = new RedisStore(network, options);
  const locks = new CachingLocks({ store, clock, random: neverEarly(number) });
  return { cache: createCache({ locks }), locks, network };
}

type Words = readonly string[];

/** Requests and messages can be stopped on their way, and go on when the test says so. */
export class Network implements ScriptRunner {
  /** Whether a request is held back, by the words of its call. */
  holds: (words: Words) => boolean = () => false;
  /** Whether the answer to a request is held back. */
  holdsAnswer: (words: Words) => boolean = () => false;
  /** Whether a request is lost: it fails, and the engine has not heard of it. */
  loses: (words: Words) => boolean = () => false;
  holdsMessages = false;
  readonly #runner: ScriptRunner;
  #held: (() => void)[] = [];

  constructor(runner: ScriptRunner) {
    this.#runner = runner;
  }

  async run(...call: Parameters<ScriptRunner['run']>): Promise<unknown> {
    const [, , words] = call;
    if (this.holds(words)) await new Promise<void>((resolve) => this.#held.push(resolve));
    if (this.loses(words)) throw new Error('lost on its way');
    const answer = await this.#runner.run(...call);
    if (this.holdsAnswer(words)) await new Promise<void>((resolve) => this.#held.push(resolve));
    return answer;
  }

  listen(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void> {
    const hear = (text: string): void => {
      if (this.holdsMessages) this.#held.push(() => onMessage(text));
      else onMessage(text);
    };
    return this.#runner.listen(channel, hear, onGap);
  }

  /** What was held goes on, and nothing is held from now on. */
  resume(): void {
    this.holds = () => false;
    this.holdsAnswer = () => false;
    this.holdsMessages = false;
    for (const goOn of this.#held.splice(0)) goOn();
  }

  close(): Promise<void> {
    return this.#runner.close();
  }
}

/** A network on which requests, answers and messages take as long as `delayMs` says each time. */
export function slowRunner(
  runner: ScriptRunner,
  clock: Clock,
  delayMs: () => number,
  isLost = (): boolean => false,
): ScriptRunner {
  const pause = (): Promise<void> => pauseOf(clock, delayMs());
  return {
    async run(...call) {
      await pause();
      const reply = await runner.run(...call);
      await pause();
      return reply;
    },
    async listen(channel, onMessage, onGap) {
      await pause();
      const later = (text: string): void => {
        if (!isLost()) clock.setTimer(delayMs(), () => onMessage(text));
      };
      await runner.listen(channel, later, onGap);
    },
    close: () => runner.close(),
  };
}

export function pauseOf(clock: Clock, durationMs: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(durationMs, resolve));
}
