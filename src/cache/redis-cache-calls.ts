import { type ExitCommands, isWrongType, type ScriptRunner, scriptOf } from '../client/index.ts';
import type { Clock } from '../clock/index.ts';
import { Scheduled, TimerQueue } from '../lock/index.ts';
import { CACHE_SCRIPT } from './redis-cache-script.ts';

/** Maximum number of requests in one call, so that no call blocks the server for long. */
const MAX_REQUESTS = 100;
const CLOSED = 'the store was closed';
const READY = Promise.resolve();
const SCRIPT = scriptOf(CACHE_SCRIPT);

/**
 * Runs the script of the cache. Requests of the same turn of the event loop are sent in one call. Equal reads of
 * one turn share one request.
 */
export class CacheCalls {
  readonly #runner: ScriptRunner;
  readonly #clock: Clock;
  readonly #session: ExitCommands | undefined;
  readonly #sent: TimerQueue<Batch>;
  /** The batches of this turn that have room, by slot. */
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
    this.#sent = new TimerQueue(clock, timeoutMs, (batch) =>
      batch.fail(new Error(`no reply within ${timeoutMs} ms`)),
    );
  }

  send(key: string, verb: string, ...args: readonly string[]): Promise<unknown> {
    return this.#batchFor(key).add(key, verb, args);
  }

  /** With a session: the server runs this request when the process ends. */
  setExit(name: string, key: string, verb: string): void {
    this.#session?.setExit(name, SCRIPT, key, [verb, '0']).catch(() => {});
  }

  dropExit(name: string): void {
    this.#session?.dropExit(name).catch(() => {});
  }

  close(): void {
    this.#isClosed = true;
    for (const batch of this.#sent.close()) batch.fail(new Error(CLOSED));
  }

  /** Shares the reply with equal reads of this turn. */
  read(key: string, verb: string, ...args: readonly string[]): Promise<unknown> {
    return this.#batchFor(key).share(key, verb, args);
  }

  #batchFor(key: string): Batch {
    const slot = this.#runner.slotOf?.(key) ?? 0;
    const open = this.#open.get(slot);
    if (open !== undefined && open.size < MAX_REQUESTS) return open;
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
    this.#sent.add(batch, this.#clock.monotonicMs());
    this.#runner.run(SCRIPT, batch.keys, batch.args).then(
      (replies) => {
        batch.unschedule();
        batch.resolve(replies as unknown[]);
      },
      (error: unknown) => {
        batch.unschedule();
        // A key of another type fails the whole call: send each request in a call of its own.
        if (batch.size > 1 && isWrongType(error)) batch.split().forEach(this.#call, this);
        else batch.fail(error);
      },
    );
  }
}

interface Request {
  readonly key: string;
  readonly argv: readonly string[];
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
    return this.#requests.flatMap(({ argv }) => argv);
  }

  add(key: string, verb: string, args: readonly string[]): Promise<unknown> {
    const argv = [verb, String(args.length), ...args];
    return new Promise((resolve, reject) => {
      this.#requests.push({ key, argv, resolve, reject });
    });
  }

  share(key: string, verb: string, args: readonly string[]): Promise<unknown> {
    const request = `${verb} ${key}`;
    let reply = this.#shared.get(request);
    if (reply === undefined) {
      reply = this.add(key, verb, args);
      this.#shared.set(request, reply);
    }
    return reply;
  }

  /** Returns a batch for each request. */
  split(): Batch[] {
    return this.#requests.map((request) => {
      const batch = new Batch();
      batch.#requests.push(request);
      return batch;
    });
  }

  resolve(replies: readonly unknown[]): void {
    for (const [index, { resolve }] of this.#requests.entries()) resolve(replies[index]);
  }

  fail(error: unknown): void {
    for (const { reject } of this.#requests) reject(error);
  }
}
