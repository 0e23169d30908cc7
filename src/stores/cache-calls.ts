import { createHash } from 'node:crypto';
import type { Clock } from '../clock/index.ts';
import { DueList } from '../lock/index.ts';
import { CACHE_SCRIPT } from './cache-script.ts';
import type { ScriptRunner } from './script-store.ts';

/** The most requests of one call, so that no call keeps the server for long. */
const MOST_AT_ONCE = 100;
const CLOSED = 'the store was closed';
const READY = Promise.resolve();
const SCRIPT = {
  text: CACHE_SCRIPT,
  sha: createHash('sha1').update(CACHE_SCRIPT).digest('hex'),
} as const;

/**
 * Runs the cache's script. Requests that are made in the same turn travel in one call; the same look is
 * sent only once.
 */
export class CacheCalls {
  readonly #runner: ScriptRunner;
  readonly #clock: Clock;
  readonly #underWay: DueList<Batch>;
  /** What this turn sends: the last batch of each slot, and those that are full. */
  readonly #open = new Map<number, Batch>();
  #isClosed = false;

  constructor(runner: ScriptRunner, clock: Clock, timeoutMs: number) {
    this.#runner = runner;
    this.#clock = clock;
    this.#underWay = new DueList(clock, timeoutMs, (batch) =>
      batch.fail(new Error(`no answer within ${timeoutMs} ms`)),
    );
  }

  send(key: string, verb: string, ...args: readonly string[]): Promise<unknown> {
    return this.#batchFor(key).add(key, verb, args);
  }

  close(): void {
    this.#isClosed = true;
    for (const batch of this.#underWay.close()) batch.fail(new Error(CLOSED));
  }

  /** Shares the answer with whoever asks for the same in this turn. */
  look(key: string): Promise<unknown> {
    return this.#batchFor(key).look(key);
  }

  #batchFor(key: string): Batch {
    const slot = this.#runner.slotOf?.(key) ?? 0;
    const open = this.#open.get(slot);
    if (open !== undefined && open.keys.length < MOST_AT_ONCE) return open;
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
    const due = this.#underWay.add(batch, this.#clock.monotonicMs());
    this.#runner.run(SCRIPT, batch.keys, batch.args).then(
      (replies) => {
        this.#underWay.drop(due);
        batch.answer(replies as unknown[]);
      },
      (error: unknown) => {
        this.#underWay.drop(due);
        batch.fail(error);
      },
    );
  }
}

interface Settler {
  resolve(reply: unknown): void;
  reject(error: unknown): void;
}

/** The requests of one call. */
class Batch {
  readonly keys: string[] = [];
  readonly args: string[] = [];
  readonly #settlers: Settler[] = [];
  readonly #looks = new Map<string, Promise<unknown>>();

  add(key: string, verb: string, args: readonly string[]): Promise<unknown> {
    this.keys.push(key);
    this.args.push(verb, String(args.length), ...args);
    return new Promise((resolve, reject) => {
      this.#settlers.push({ resolve, reject });
    });
  }

  look(key: string): Promise<unknown> {
    let look = this.#looks.get(key);
    if (look === undefined) {
      look = this.add(key, 'look', []);
      this.#looks.set(key, look);
    }
    return look;
  }

  answer(replies: readonly unknown[]): void {
    for (const [index, { resolve }] of this.#settlers.entries()) resolve(replies[index]);
  }

  fail(error: unknown): void {
    for (const { reject } of this.#settlers) reject(error);
  }
}
