import { createHash } from 'node:crypto';
import type {
  Answer,
  Claim,
  Hold,
  Holder,
  HolderInfo,
  Inspection,
  LockKind,
  LockStore,
  Target,
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
  readonly #channel: string;
  readonly #script = withSha(LOCK_SCRIPT);
  /** Owners that stand in line, to be called when messages may have been lost. */
  readonly #waiting = new Set<string>();
  #batch: Pending[] = [];
  #call: (owner: string) => void = () => {};
  #listening: Promise<void> | undefined;

  constructor(runner: ScriptRunner, clientId: string) {
    this.#runner = runner;
    this.#channel = `holdfast:${clientId}`;
  }

  async ask(claim: Claim, queues: boolean): Promise<Answer> {
    if (queues && this.#listening === undefined) {
      // Who stands in line must hear the call; a lock that is free does not wait for that.
      const answer = await this.#ask('ask', claim);
      if (answer.held) return answer;
      await this.#listen();
    }
    return this.#ask(queues ? 'line' : 'ask', claim);
  }

  async extend(hold: Hold, leaseMs: number): Promise<boolean> {
    const [status] = await this.#request('extend', hold, { leaseMs });
    return status === 1;
  }

  async release(hold: Hold): Promise<boolean> {
    this.#waiting.delete(hold.owner);
    const [status] = await this.#request('release', hold, {});
    return status === 1;
  }

  async forceRelease(target: Target): Promise<number> {
    const [count] = await this.#request('force', { ...target, owner: '' }, {});
    return count;
  }

  async inspect(target: Target): Promise<Inspection> {
    const reply = await this.#send('show', { ...target, owner: '' }, {});
    const [holders, waiters] = reply as [[string, number, number][], string[]];
    return { holders: holders.map(parseHolder), waiters: waiters.map(parseWaiter) };
  }

  onCall(listener: (owner: string) => void): void {
    this.#call = listener;
  }

  close(): Promise<void> {
    return this.#runner.close();
  }

  async #request(verb: Verb, hold: Hold, more: Partial<Claim>): Promise<[number, number, number]> {
    const reply = (await this.#send(verb, hold, more)) as unknown[];
    return reply.map(Number) as [number, number, number];
  }

  #send(verb: Verb, hold: Hold, { take = 1, leaseMs = 0, info }: Partial<Claim>): Promise<unknown> {
    const keys = keysOf(hold);
    const numbers = [hold.slots, take, Math.round(leaseMs)].map(String);
    const args = [verb, hold.owner, ...numbers, this.#channel, JSON.stringify(info ?? null)];
    return new Promise((resolve, reject) => {
      if (this.#batch.push({ keys, args, resolve, reject }) === 1) {
        queueMicrotask(() => this.#flush());
      }
    });
  }

  #flush(): void {
    const batch = this.#batch;
    this.#batch = [];
    for (const group of this.#groups(batch)) {
      for (let at = 0; at < group.length; at += MOST_AT_ONCE) {
        this.#run(group.slice(at, at + MOST_AT_ONCE));
      }
    }
  }

  #groups(batch: Pending[]): Pending[][] {
    const { slotOf } = this.#runner;
    if (slotOf === undefined) return [batch];
    const bySlot = new Map<number, Pending[]>();
    for (const pending of batch) {
      const slot = slotOf(pending.keys[0]!);
      const group = bySlot.get(slot);
      if (group) group.push(pending);
      else bySlot.set(slot, [pending]);
    }
    return [...bySlot.values()];
  }

  async #run(group: readonly Pending[]): Promise<void> {
    const keys = group.flatMap((pending) => pending.keys);
    const args = group.flatMap((pending) => pending.args);
    try {
      const replies = (await this.#runner.run(this.#script, keys, args)) as unknown[];
      for (const [index, pending] of group.entries()) pending.resolve(replies[index]);
    } catch (error) {
      for (const pending of group) pending.reject(error);
    }
  }

  async #ask(verb: 'ask' | 'line', claim: Claim): Promise<Answer> {
    const [status, fence, leftMs] = await this.#request(verb, claim, claim);
    if (status === 1) {
      this.#waiting.delete(claim.owner);
      return { held: true, fence };
    }
    if (verb === 'line') this.#waiting.add(claim.owner);
    return { held: false, retryInMs: Math.max(0, leftMs) + MARGIN_MS };
  }

  #listen(): Promise<void> {
    const everybody = (): void => {
      for (const owner of [...this.#waiting]) this.#call(owner);
    };
    this.#listening ??= this.#runner
      .listen(this.#channel, (owner) => this.#call(owner), everybody)
      .catch((error: unknown) => {
        this.#listening = undefined;
        throw error;
      });
    return this.#listening;
  }
}

type Verb = 'ask' | 'line' | 'extend' | 'release' | 'force' | 'show';

interface Pending {
  readonly keys: string[];
  readonly args: string[];
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: unknown) => void;
}

const PREFIXES = { mutex: 'lock', semaphore: 'semaphore', rw: 'rw' } as const satisfies Record<
  LockKind,
  string
>;

/** All keys of a lock share a hash tag, its name; braces in the name would end the tag early. */
function keysOf({ kind, name }: Target): string[] {
  const tag = name.replace(/[{}%]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const holder = `${PREFIXES[kind]}:{${tag}}`;
  return [holder, `${holder}:state`, `${holder}:queue`];
}

function parseHolder([text, leftMs, ageMs]: [string, number, number]): Holder {
  const [, fence, take, info] = /^(\d+) \d+ (\d+) \d+ \S+ (.*)$/s.exec(text) ?? [];
  return { ...parseInfo(info), take: Number(take), fence: Number(fence), leftMs, ageMs };
}

function parseWaiter(text: string): HolderInfo & { take: number } {
  const [, take, info] = /^(\d+) \d+ \S+ (.*)$/s.exec(text) ?? [];
  return { ...parseInfo(info), take: Number(take) };
}

/** A holder of another program left no information. */
function parseInfo(text: string | undefined): HolderInfo {
  const known = text ? (JSON.parse(text) as HolderInfo | null) : null;
  return known ?? { host: '', pid: 0, label: '' };
}

function withSha(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}
