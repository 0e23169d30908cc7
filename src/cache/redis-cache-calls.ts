import { type ExitCommands, isWrongType, type ScriptRunner, scriptOf } from '../client/index.ts';
import type { Clock } from '../clock/index.ts';
import { Scheduled, TimerQueue } from '../lock/index.ts';
import { CACHE_SCRIPT } from './redis-cache-script.ts';

/** The most requests of one call, so that no call keeps the server for long. */
const MOST_AT_ONCE = 100;
const CLOSED = 'the store was closed';
const READY = Promise.resolve();
const SCRIPT = scriptOf(CACHE_SCRIPT);

/**
 * Runs the cache's script. Requests that are made in the same turn travel in one call; what only reads, and
 * is asked for twice, is sent once.
 */
export class CacheCalls {
  readonly #runner: ScriptRunner;
  readonly #clock: Clock;
  readonly #session: ExitCommands | undefined;
  readonly #underWay: TimerQueue<Batch>;
  /** What this turn sends: the last batch of each slot, and those that are full. */
  readonly #open = new Map<number, Batch>();
  #isClosed = false;

  constructor(
    runner: ScriptRunner,
    clock: Clock,
    timeoutMs: number,
    session: ExitCommands | undefined,
  ) {
    this.#runner = runner;
    this.#session = session;
    this.#clock = clock;
    this.#underWay = new TimerQueue(clock, timeoutMs, (batch) =>
      batch.fail(new Error(`no answer within ${timeoutMs} ms`)),
    );
  }

  send(key: string, verb: string, ...args: readonly string[]): Promise<unknown> {
    return this.#batchFor(key).add(key, verb, args);
  }

  /** This request is made for this program if it ends, where the server learns of that. */
  leave(name: string, key: string, verb: string): void {
    this.#session?.setExit(name, SCRIPT, key, [verb, '0']).catch(() => {});
  }

  takeBack(name: string): void {
    this.#session?.dropExit(name).catch(() => {});
  }

  close(): void {
    this.#isClosed = true;
    for (const batch of this.#underWay.close()) batch.fail(new Error(CLOSED));
  }

  /** Shares the answer with whoever asks for the same in this turn. */
  read(key: string, verb: string, ...args: readonly string[]): Promise<unknown> {
    return this.#batchFor(key).share(key, verb, args);
  }

  #batchFor(key: string): Batch {
    const slot = this.#runner.slotOf?.(key) ?? 0;
    const open = this.#open.get(slot);
    if (open !== undefined && open.size < MOST_AT_ONCE) return open;
    if (open !== undefined) this.#call(open);
    else if (this.#open.size === 0) READY.then(this.#flush);
    const batch = new Batch();
    this.#open.set(slot, batch);
    return batch;
  }

  readonly #flush = (): void => {
    const batches = [...this.#open.values()];
    this.#open.clear();
    for (const batch of batches) this.#call(batch);
  };

  #call(batch: Batch): void {
    if (this.#isClosed) {
      batch.fail(new Error(CLOSED));
      return;
    }
    this.#underWay.add(batch, this.#clock.monotonicMs());
    this.#runner.run(SCRIPT, batch.keys, batch.args).then(
      (replies) => {
        batch.unschedule();
        batch.answer(replies as unknown[]);
      },
      (error: unknown) => {
        batch.unschedule();
        // One key that is no value must not be the end of all who travelled with it: each is asked for alone.
        if (batch.size > 1 && isWrongType(error)) batch.split().forEach(this.#call, this);
        else batch.fail(error);
      },
    );
  }
}

interface Request {
  readonly key: string;
  readonly words: readonly string[];
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/** The requests of one call. */
class Batch extends Scheduled<Batch> {
  readonly #requests: Request[] = [];
  readonly #shared = new Map<string, Promise<unknown>>();

  get size(): number {
    return this.#requests.length;
  }

  get keys(): string[] {
    return this.#requests.map(({ key }) => key);
  }

  get args(): string[] {
    return this.#requests.flatMap(({ words }) => words);
  }

  add(key: string, verb: string, args: readonly string[]): Promise<unknown> {
    const words = [verb, String(args.length), ...args];
    return new Promise((resolve, reject) => {
      this.#requests.push({ key, words, resolve, reject });
    });
  }

  share(key: string, verb: string, args: readonly string[]): Promise<unknown> {
    const question = `${verb} ${key}`;
    let answer = this.#shared.get(question);
    if (answer === undefined) {
      answer = this.add(key, verb, args);
      this.#shared.set(question, answer);
    }
    return answer;
  }

  /** Each request for itself. */
  split(): Batch[] {
    return this.#requests.map((request) => {
      const batch = new Batch();
      batch.#requests.push(request);
      return batch;
    });
  }

  answer(replies: readonly unknown[]): void {
    for (const [index, { resolve }] of this.#requests.entries()) resolve(replies[index]);
  }

  fail(error: unknown): void {
    for (const { reject } of this.#requests) reject(error);
  }
}
