import { createHash } from 'node:crypto';
import type { Clock } from '../clock/index.ts';
import {
  type Answer,
  type CallListener,
  type Claim,
  DueList,
  type Hold,
  type Holder,
  type HolderInfo,
  type Inspection,
  type LockKind,
  type LockStore,
  type Target,
} from '../lock/index.ts';
import { LOCK_SCRIPT } from './lock-script.ts';

/** Whatever can run a script on a Redis, and hear messages from it. */
export interface ScriptRunner {
  run(script: Script, keys: string[], args: string[]): Promise<unknown>;
  /** Hears one channel. `onGap` is called when messages may have been lost: after each reconnection. */
  listen(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void>;
  /** In a cluster: which requests may travel together. Left out: all. */
  slotOf?(key: string): number;
  close(): Promise<void>;
}

export interface Script {
  readonly text: string;
  readonly sha: string;
}

export interface ScriptStoreOptions {
  readonly clock: Clock;
  /** Unlike that of every other client. */
  readonly clientId: string;
  /** How long one call may take. */
  readonly requestTimeoutMs: number;
}

/** The most requests of one call, so that no call keeps the server for long. */
const MOST_AT_ONCE = 100;
/** Redis ends a key in the millisecond after its last. */
const MARGIN_MS = 2;

/**
 * Locks in Redis, or in whatever runs its scripts. Requests that are made in the same turn travel in one
 * call; one subscription, to a channel of this client's own, serves all locks.
 */
export class ScriptStore implements LockStore {
  readonly #runner: ScriptRunner;
  readonly #clock: Clock;
  readonly #channel: string;
  readonly #script = withSha(LOCK_SCRIPT);
  /** Calls under way. */
  readonly #calls: DueList<Batch>;
  /** Owners that stand in line, to be called when messages may have been lost. */
  readonly #waiting = new Set<string>();
  /** What this turn sends. */
  #batches: Batch[] = [];
  /** In a cluster: the last of them for each slot. */
  #bySlot = new Map<number, Batch>();
  #onCall: CallListener = () => {};
  #listening: Promise<void> | undefined;
  #isListening = false;
  #isClosed = false;

  constructor(runner: ScriptRunner, { clock, clientId, requestTimeoutMs }: ScriptStoreOptions) {
    this.#runner = runner;
    this.#clock = clock;
    this.#channel = `holdfast:${clientId}`;
    this.#calls = new DueList(clock, requestTimeoutMs, (batch) =>
      this.#failed(batch, new Error(`no answer within ${requestTimeoutMs} ms`)),
    );
  }

  ask(claim: Claim, queues: boolean): Promise<Answer> {
    if (!queues) return this.#ask('ask', claim);
    return this.#isListening ? this.#ask('line', claim) : this.#askThenListen(claim);
  }

  askAll(claims: readonly Claim[], leastFence: number): Promise<Answer | undefined> {
    const { slotOf } = this.#runner;
    const slots = new Set(slotOf && claims.map((claim) => slotOf(keyOf(claim))));
    if (slots.size > 1) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      for (const [index, claim] of claims.entries()) {
        const batch = this.#batchFor(claim, index === 0 ? claims.length : 0);
        const verb = index === 0 ? `all ${claims.length} ${leastFence}` : 'also';
        batch.add(keyOf(claim), verb, claim, claim.leaseMs, claim.info);
        batch.settlers.push({ reject, resolve: (reply) => index > 0 || resolve(toAnswer(reply)) });
      }
    });
  }

  adopt(claim: Claim, from: string): Promise<Answer> {
    return this.#send(`adopt ${from}`, claim, claim.leaseMs, claim.info, (fence) =>
      fence === 0 ? { held: false, retryInMs: 0 } : { held: true, fence: Number(fence) },
    );
  }

  extend(hold: Hold, leaseMs: number): Promise<boolean> {
    return this.#send('extend', hold, leaseMs, undefined, isOne);
  }

  release(hold: Hold): Promise<boolean> {
    this.#waiting.delete(hold.owner);
    return this.#send('release', hold, 0, undefined, isOne);
  }

  forceRelease(target: Target): Promise<number> {
    return this.#send('force', { ...target, owner: '' }, 0, undefined, Number);
  }

  inspect(target: Target): Promise<Inspection> {
    return this.#send('show', { ...target, owner: '' }, 0, undefined, parseInspection);
  }

  onCall(listener: CallListener): void {
    this.#onCall = listener;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#calls.close();
    await this.#runner.close();
  }

  /** Who stands in line must hear the call; a lock that is free does not wait for that. */
  async #askThenListen(claim: Claim): Promise<Answer> {
    const answer = await this.#ask('ask', claim);
    if (answer.held) return answer;
    await this.#listen();
    return this.#ask('line', claim);
  }

  #ask(verb: 'ask' | 'line', claim: Claim): Promise<Answer> {
    return this.#send(verb, claim, claim.leaseMs, claim.info, (reply) => {
      const answer = toAnswer(reply);
      if (answer.held) this.#waiting.delete(claim.owner);
      else if (verb === 'line') this.#waiting.add(claim.owner);
      return answer;
    });
  }

  #send<Result>(
    verb: string,
    hold: Hold & { readonly take?: number },
    leaseMs: number,
    info: HolderInfo | undefined,
    parse: (reply: unknown) => Result,
  ): Promise<Result> {
    return new Promise((resolve, reject) => {
      const batch = this.#batchFor(hold, 1);
      batch.add(keyOf(hold), verb, hold, leaseMs, info);
      batch.settlers.push({ resolve: (reply) => resolve(parse(reply)), reject });
    });
  }

  /** The batch that the next requests belong to, with room for so many. */
  #batchFor(target: Target, count: number): Batch {
    const { slotOf } = this.#runner;
    const slot = slotOf === undefined ? 0 : slotOf(keyOf(target));
    const open = slotOf === undefined ? this.#batches.at(-1) : this.#bySlot.get(slot);
    if (open !== undefined && open.keys.length + count <= MOST_AT_ONCE) return open;
    const batch = this.#openBatch();
    if (slotOf !== undefined) this.#bySlot.set(slot, batch);
    return batch;
  }

  #openBatch(): Batch {
    if (this.#batches.length === 0) queueMicrotask(this.#flush);
    const batch = new Batch(this.#channel);
    this.#batches.push(batch);
    return batch;
  }

  readonly #flush = (): void => {
    const batches = this.#batches;
    this.#batches = [];
    if (this.#bySlot.size > 0) this.#bySlot = new Map();
    for (const batch of batches) this.#call(batch);
  };

  #call(batch: Batch): void {
    batch.sentMs = this.#clock.monotonicMs();
    batch.sentWallMs = this.#clock.wallMs();
    if (this.#isClosed) {
      this.#failed(batch, new Error('the store was closed'));
      return;
    }
    const due = this.#calls.add(batch, batch.sentMs);
    this.#runner.run(this.#script, batch.keys, batch.args).then(
      (replies) => {
        this.#calls.drop(due);
        this.#answered(batch, replies as unknown[]);
      },
      (error: unknown) => {
        this.#calls.drop(due);
        this.#failed(batch, error);
      },
    );
  }

  #answered(batch: Batch, replies: unknown[]): void {
    const { settlers } = batch;
    for (let index = 0; index < settlers.length; index++) settle(settlers[index]!, replies[index]);
    const served = (replies[settlers.length] ?? []) as unknown[];
    for (let index = 0; index < served.length; index += 2) {
      const owner = String(served[index]);
      this.#waiting.delete(owner);
      const { sentMs, sentWallMs } = batch;
      this.#onCall(owner, { fence: Number(served[index + 1]), sentMs, sentWallMs });
    }
  }

  #failed(batch: Batch, error: unknown): void {
    for (const settler of batch.settlers) settler.reject(error);
    // The call may have been run, and have handed a lock to one of our own waiters.
    if (batch.mayServe) this.#callEverybody();
  }

  #listen(): Promise<void> {
    this.#listening ??= this.#runner
      .listen(
        this.#channel,
        (owner) => this.#onCall(owner),
        () => this.#callEverybody(),
      )
      .then(
        () => {
          this.#isListening = true;
        },
        (error: unknown) => {
          this.#listening = undefined;
          throw error;
        },
      );
    return this.#listening;
  }

  #callEverybody(): void {
    for (const owner of [...this.#waiting]) this.#onCall(owner);
  }
}

/** The requests of one call. */
class Batch {
  readonly keys: string[] = [];
  readonly args: string[];
  readonly settlers: Settler[] = [];
  /** Whether somebody may be served by it who did not ask. */
  mayServe = false;
  sentMs = 0;
  sentWallMs = 0;

  constructor(channel: string) {
    this.args = [channel];
  }

  add(
    key: string,
    verb: string,
    { owner, kind, slots, take = 1 }: Hold & { readonly take?: number },
    leaseMs: number,
    info: HolderInfo | undefined,
  ): void {
    if (verb === 'release' || verb === 'force') this.mayServe = true;
    this.keys.push(key);
    const size = kind === 'mutex' ? 'mutex' : `${slots} ${take}`;
    this.args.push(verb, owner, size, String(Math.round(leaseMs)), infoText(info));
  }
}

interface Settler {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A reply that cannot be understood is a failure of its own request alone. */
function settle({ resolve, reject }: Settler, reply: unknown): void {
  try {
    resolve(reply);
  } catch (error) {
    reject(error);
  }
}

const PREFIXES = { mutex: 'lock', semaphore: 'semaphore', rw: 'rw' } as const satisfies Record<
  LockKind,
  string
>;

/**
 * All keys of a lock share a hash tag, its name, or the part of it before a closing brace. A name that
 * begins with one would have an empty tag, which is none; a sign before it keeps names apart.
 */
function keyOf({ kind, name }: Target): string {
  const first = name.charCodeAt(0);
  const isMarked = first === 0x7d || first === 0x25;
  return `${PREFIXES[kind]}:{${isMarked ? '%' : ''}${name}}`;
}

let lastInfo: HolderInfo | undefined;
let lastInfoText = '';

/** Most claims of a process share one. */
function infoText(info: HolderInfo | undefined): string {
  if (info === undefined) return '';
  if (info !== lastInfo) {
    lastInfo = info;
    lastInfoText = JSON.stringify([info.host, info.pid, info.label]);
  }
  return lastInfoText;
}

function toAnswer(reply: unknown): Answer {
  const number = Number(reply);
  if (number > 0) return { held: true, fence: number };
  return { held: false, retryInMs: MARGIN_MS - number };
}

function isOne(reply: unknown): boolean {
  return Number(reply) === 1;
}

function parseInspection(reply: unknown): Inspection {
  const [holders, waiters] = reply as [unknown[][], unknown[][]];
  return { holders: holders.map(parseHolder), waiters: waiters.map(parseWaiter) };
}

function parseHolder([fence, take, leftMs, ageMs, info]: unknown[]): Holder {
  return {
    ...parseInfo(info),
    take: Number(take),
    fence: Number(fence),
    leftMs: Number(leftMs),
    ageMs: Number(ageMs),
  };
}

function parseWaiter([take, info]: unknown[]): HolderInfo & { take: number } {
  return { ...parseInfo(info), take: Number(take) };
}

/** A holder of another program left no information. */
function parseInfo(text: unknown): HolderInfo {
  const [host, pid, label] = text ? JSON.parse(String(text)) : ['', 0, ''];
  return { host, pid, label };
}

function withSha(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
