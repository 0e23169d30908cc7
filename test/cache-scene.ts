import { CachingLocks } from '../src/cache/caching-locks.ts';
import {
  type Cache,
  type CacheLimits,
  createCache,
  type Load,
  type LoadContext,
} from '../src/cache/index.ts';
import type { ScriptRunner } from '../src/client/index.ts';
import { type Clock, type Random, seededRandom, type VirtualClock } from '../src/clock/index.ts';
import type { Engine } from '../src/engine/index.ts';
import { RedisStore } from '../src/stores/index.ts';
import { engineRunner } from '../src/stores/redis/engine-runner.ts';

/** Waits until all that can happen without time has happened. */
export const turn = (): Promise<void> => new Promise(setImmediate);

export async function elapse(clock: VirtualClock, durationMs: number): Promise<void> {
  await turn();
  clock.advance(durationMs);
  await turn();
}

/** The value or the error of the work. */
export function settled<Value>(work: Promise<Value>): Promise<Value | Error> {
  return work.catch((error: Error) => error);
}

interface Loading<Value> extends LoadContext {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/** A load that the test ends. */
export function heldLoad<Value>(): { load: Load<Value>; loads: Loading<Value>[] } {
  const loads: Loading<Value>[] = [];
  const load: Load<Value> = (context) =>
    new Promise((resolve, reject) => {
      loads.push({ ...context, resolve, reject });
    });
  return { load, loads };
}

/** Randomness that never triggers an early load. */
export function neverEarly(seed: number): Random {
  return { next: () => 0, bytes: (count) => seededRandom(seed).bytes(count) };
}

export interface Program {
  readonly cache: Cache;
  readonly locks: CachingLocks;
  /** The network between this program and the engine. */
  readonly network: Network;
}

/** Opens one of many programs that share an engine as if it were a Redis. */
export function openProgram(
  engine: Engine,
  clock: Clock,
  number: number,
  { memory = false, random = neverEarly(number), prefix }: ProgramOptions = {},
): Program {
  const network = new Network(engineRunner(engine));
  const options = {
    clock,
    clientId: `client${number}`,
    requestTimeoutMs: 5000,
    keys: { prefix },
  };
  const store = new RedisStore(network, options);
  const locks = new CachingLocks({ store, clock, random });
  return { cache: createCache({ locks, memory }), locks, network };
}

export interface ProgramOptions {
  readonly memory?: boolean | CacheLimits;
  readonly random?: Random;
  /** Prefix of the keys of locks and values. */
  readonly prefix?: string;
}

type Args = readonly string[];

/** Holds or loses requests, replies and messages as the test says. */
export class Network implements ScriptRunner {
  /** Whether a request is held, by the arguments of its call. */
  holds: (args: Args) => boolean = () => false;
  /** Whether the reply to a request is held. */
  holdsReply: (args: Args) => boolean = () => false;
  /** Whether a request is lost: it fails, and the engine does not execute it. */
  loses: (args: Args) => boolean = () => false;
  holdsMessages = false;
  refusesSubscriptions = false;
  /** How many calls were made. */
  calls = 0;
  readonly #runner: ScriptRunner;
  readonly #subscriptions: { readonly onGap: () => void; readonly onLost: () => void }[] = [];
  #held: (() => void)[] = [];
  #isCut = false;

  constructor(runner: ScriptRunner) {
    this.#runner = runner;
  }

  async run(...call: Parameters<ScriptRunner['run']>): Promise<unknown> {
    const [, , args] = call;
    this.calls++;
    if (this.holds(args)) await new Promise<void>((resolve) => this.#held.push(resolve));
    if (this.loses(args)) throw new Error('the request was lost');
    const reply = await this.#runner.run(...call);
    if (this.holdsReply(args)) await new Promise<void>((resolve) => this.#held.push(resolve));
    return reply;
  }

  async listen(...[channel, onMessage, onGap, onLost]: Parameters<ScriptRunner['listen']>) {
    if (this.refusesSubscriptions) throw new Error('the subscription was refused');
    this.#subscriptions.push({ onGap, onLost: onLost ?? (() => {}) });
    const receive = (text: string): void => {
      if (this.#isCut) return;
      if (this.holdsMessages) this.#held.push(() => onMessage(text));
      else onMessage(text);
    };
    await this.#runner.listen(channel, receive, onGap);
  }

  /** Ends the connections of all subscriptions. Messages are lost from now on. */
  cutSubscriptions(): void {
    this.#isCut = true;
    for (const { onLost } of this.#subscriptions) onLost();
  }

  restoreSubscriptions(): void {
    this.#isCut = false;
    for (const { onGap } of this.#subscriptions) onGap();
  }

  /** Delivers what was held, and holds nothing from now on. */
  resume(): void {
    this.holds = () => false;
    this.holdsReply = () => false;
    this.holdsMessages = false;
    for (const deliver of this.#held.splice(0)) deliver();
  }

  close(): Promise<void> {
    return this.#runner.close();
  }
}

/** A network on which requests, replies and messages take as long as `delayMs` says each time. */
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
