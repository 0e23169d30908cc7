import type { Clock } from '../clock/index.ts';
import {
  type Claim,
  Due,
  type Hearer,
  type Hold,
  type HoldWords,
  type Requester,
} from '../lock/index.ts';
import { type LockRequest, toArgs, toDigits } from './lock-call.ts';

/** The requests of one call. */
export class LockBatch extends Due<LockBatch> implements Hearer<unknown> {
  keys: string[] = NONE;
  readonly #ownerPrefix: string;
  readonly #ends: BatchEnds;
  /** Three for each: verb, token, number. */
  #words: string[] = NONE;
  settlers: Settler<unknown>[] = NONE;
  /** Whether somebody may be served by it who did not ask. */
  mayServe = false;
  isSent = false;
  lossCount = 0;
  hasFailed = false;
  sentMs = 0;
  sentWallMs = 0;

  constructor(ownerPrefix: string, ends: BatchEnds) {
    super();
    this.#ownerPrefix = ownerPrefix;
    this.#ends = ends;
  }

  readClocks(clock: Clock): void {
    this.sentMs = clock.monotonicMs();
    this.sentWallMs = clock.wallMs();
  }

  answered(replies: unknown): void {
    this.drop();
    this.#ends.answered(this, replies);
  }

  failed(error: unknown): void {
    this.drop();
    this.#ends.failed(this, error);
  }

  get args(): string[] {
    return toArgs(this.#ownerPrefix, this.#words);
  }

  /** In the order of the keys. */
  get owners(): string[] {
    return this.keys.map((_, index) => this.#words[3 * index + 1]!.split(' ', 1)[0]!);
  }

  add<Result>(
    { key, token }: Pick<HoldWords, 'key' | 'token'>,
    verb: string,
    number: number,
    settler: Settler<Result>,
  ): void {
    if (verb.startsWith('release') || verb.startsWith('force')) this.mayServe = true;
    const digits = toDigits(Math.round(number));
    if (this.keys.length === 0) {
      this.keys = [key];
      this.#words = [verb, token, digits];
      this.settlers = [settler];
      return;
    }
    this.keys.push(key);
    this.#words.push(verb, token, digits);
    this.settlers.push(settler);
  }

  /** Each request for itself, with those that belong to it. */
  split(): LockBatch[] {
    const parts: LockBatch[] = [];
    for (const [index, settler] of this.settlers.entries()) {
      const [verb, token, number] = this.#words.slice(3 * index, 3 * index + 3) as LockRequest;
      if (verb !== 'also') parts.push(new LockBatch(this.#ownerPrefix, this.#ends));
      parts.at(-1)?.add({ key: this.keys[index]!, token }, verb, Number(number), settler);
    }
    return parts;
  }
}

/** Who is told what becomes of a batch. */
export interface BatchEnds {
  answered(batch: LockBatch, replies: unknown): void;
  failed(batch: LockBatch, error: unknown): void;
}

/** What is done with the reply to one request. */
export interface Settler<Result> {
  readonly requester: Requester<Result>;
  readonly parse: (reply: unknown) => Result;
  /** Who wants to stand in line if it is busy, and whether it has asked for that. */
  readonly whenBusy?: Claim | undefined;
  readonly stands?: boolean;
  /** What was held, and is released, and its fence. */
  readonly released?: Hold | undefined;
  readonly fence?: number | undefined;
}

/** Of whatever there is mostly one: that comes in an array of its own, since the first push makes room for 17. */
export const NONE: never[] = [];
