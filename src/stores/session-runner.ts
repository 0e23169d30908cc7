import { systemClock } from '../clock/index.ts';
import { type LockRequest, toWords } from './lock-call.ts';
import { isListOfServed } from './lock-reply.ts';
import { LOCK_SCRIPT } from './lock-script.ts';
import { givenBack, isFaultOfOne } from './script-fault.ts';
import type { Script, ScriptRunner } from './script-runner.ts';
import { SessionError } from './session.ts';

/** What locks are tied to: it ends when its connection does. */
export interface LiveSession {
  readonly id: string;
  readonly ended: Promise<void>;
  close(): unknown;
}

export interface SessionRunnerOptions {
  readonly runner: ScriptRunner;
  /** Sends a plain command, in order with the scripts of the runner. */
  command(words: string[]): Promise<unknown>;
  /** Set before the keys of scripts, but not of plain commands. */
  readonly keyPrefix: string;
  /** Opens a session; again, when one has ended. */
  open(): Promise<LiveSession>;
}

/** The most locks that one call gives back. */
const MOST_AT_ONCE = 100;
/** Between two tries to take a will or a lock back. */
const PAUSE_MS = 200;

/**
 * Ties locks to a session: just before a lock is asked for, a will is left with the session to release it
 * again, which is dropped when the lock is released. If the process dies, its connection ends, and the
 * server runs the wills.
 *
 * A session can end while the process lives: CLIENT KILL, a network that fails for a moment, a server that
 * died. Then all its locks are lost, and their holders are told so before anything is asked: the server
 * has released them, or is about to, or has forgotten them. Each will is taken back, after which it has run
 * or never will, and what it was for is released; so nothing of the old session can disturb what is asked
 * for in the next.
 *
 * A will never speaks for the client's own channel: a waiter that it serves must be called by a message,
 * since nobody reads the reply.
 */
export class SessionRunner implements ScriptRunner {
  readonly #options: SessionRunnerOptions;
  readonly #runner: ScriptRunner;
  /** What wills are left for, by their names. */
  readonly #wills = new Map<string, Request>();
  #session: LiveSession | undefined;
  #opening: Promise<LiveSession> | undefined;
  /** Of sessions that have ended: nothing is asked for in the next before it was taken back. */
  readonly #remains = new Set<Remains>();
  #onLost = (_reason: Error): void => {};
  #isClosed = false;

  constructor(options: SessionRunnerOptions) {
    this.#options = options;
    this.#runner = options.runner;
  }

  async run(script: Script, keys: string[], args: string[]): Promise<unknown> {
    if (script.text !== LOCK_SCRIPT) return this.#runner.run(script, keys, args);
    const requests = requestsIn(keys, args);
    const asked = requests.filter(({ word }) => ASKS.has(word));
    // What is given up while a session is opened must not be released before it is asked for.
    if (asked.length === 0 && this.#opening) await this.#opening.catch(() => {});
    const session = asked.length === 0 ? undefined : (this.#session ?? (await this.#opened()));
    // It may have ended while it was opened: what is left with it now would be taken back by nobody.
    if (session !== undefined && session !== this.#session) throw new SessionError('ended', ENDED);
    const left = asked.map((request) => this.#leave(session!, script, request));
    const reply = await this.#runner.run(script, keys, args).catch((error: unknown) => {
      // Where there is no lock nothing is held. Of several requests, each is sent again alone.
      if (requests.length === 1 && isFaultOfOne(error)) void this.#drop(willOf(requests[0]!));
      throw error;
    });
    if (session !== undefined) await this.#makeSure(session, script, asked, left);
    this.#dropEnded(requests, reply);
    return reply;
  }

  listen(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void> {
    return this.#runner.listen(channel, onMessage, onGap);
  }

  onLost(listener: (reason: Error) => void): void {
    this.#onLost = listener;
  }

  async disown(key: string, owner: string): Promise<void> {
    await this.#drop(willOf({ key, owner }));
  }

  async leaveWill(
    name: string,
    script: Script,
    key: string,
    args: readonly string[],
  ): Promise<void> {
    const session = this.#session;
    if (session === undefined) return;
    const call = ['EVALSHA', script.sha, '1', this.#options.keyPrefix + key, ...args];
    const leave = (): Promise<unknown> => this.#say('SET', session.id, name, ...call);
    await leave().catch((error: unknown) => {
      if (!isForgotten(error)) throw error;
      this.#teach(script);
      return leave();
    });
  }

  async takeBackWill(name: string): Promise<void> {
    if (this.#session !== undefined) await this.#say('DROP', this.#session.id, name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
    await this.#runner.close();
  }

  /** Resolves to what went wrong. */
  #leave({ id }: LiveSession, { sha }: Script, request: Request): Promise<unknown> {
    const will = willOf(request);
    this.#wills.set(will, request);
    const { key, verb, token } = request;
    const call = ['EVALSHA', sha, '1', this.#options.keyPrefix + key];
    return this.#say('SET', id, will, ...call, '', releaseOf(verb), token, NOT_THE_HOLDER).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** What was asked for may be held without a will: then it is given back. */
  async #makeSure(
    session: LiveSession,
    script: Script,
    asked: readonly Request[],
    left: readonly Promise<unknown>[],
  ): Promise<void> {
    let failure = await firstOf(left);
    if (isForgotten(failure)) {
      this.#teach(script);
      failure = await firstOf(asked.map((request) => this.#leave(session, script, request)));
    }
    if (failure !== undefined) {
      const unkept = asked.filter((request) => !this.#isAskedAgain(request));
      for (const request of unkept) void this.#drop(willOf(request));
      void this.#giveBackForSure(script, unkept);
      if (/^NOSESSION/.test(messageOf(failure))) {
        await turnOfAnswers();
        this.#ended(session, script);
      }
      throw givenBack(failure);
    }
    if (session !== this.#session) throw new SessionError('ended', ENDED);
  }

  /** Right before what needs it, so that no SCRIPT FLUSH comes between. */
  #teach({ text }: Script): void {
    this.#options.command(['SCRIPT', 'LOAD', text]).catch(() => {});
  }

  /**
   * The server may not know yet that the session has ended, and run its wills minutes later: one that is
   * still there would then release what its owner, who asks again, was granted since.
   */
  #takeBack(remains: Remains): Promise<void> {
    remains.takenBack ??= this.#takeBackOnce(remains).finally(() => {
      remains.takenBack = undefined;
    });
    return remains.takenBack;
  }

  async #takeBackOnce(remains: Remains): Promise<void> {
    const { id, script, requests } = remains;
    const dropped = requests.map((request) => this.#say('DROP', id, willOf(request)));
    const wills = dropped.map((each) => each.catch(unless(/^NOSESSION/)));
    const locks = this.#giveBack(script, requests).map((each) => each.catch(unless(ERROR_REPLY)));
    await Promise.all([...wills, ...locks]);
    this.#remains.delete(remains);
  }

  /** Until the server has heard of it: no will and no lease of the holder's ends what nobody knows of. */
  async #giveBackForSure(script: Script, requests: readonly Request[]): Promise<void> {
    const isGivenBack = async (): Promise<boolean> => {
      const calls = this.#giveBack(script, requests);
      const ends = await Promise.allSettled(calls.map((each) => each.catch(unless(ERROR_REPLY))));
      return ends.every(({ status }) => status === 'fulfilled');
    };
    while (!(await isGivenBack()) && !this.#isClosed) await pause();
  }

  #giveBack(script: Script, requests: readonly Request[]): Promise<void>[] {
    const calls: Promise<void>[] = [];
    for (let start = 0; start < requests.length; start += MOST_AT_ONCE) {
      const some = requests.slice(start, start + MOST_AT_ONCE);
      calls.push(this.#release(script, some));
    }
    return calls;
  }

  /** One key that is no lock must not keep the others: each is then released alone. */
  async #release(script: Script, requests: readonly Request[]): Promise<void> {
    const words = requests.flatMap(({ verb, token }) => [releaseOf(verb), token, NOT_THE_HOLDER]);
    const keys = requests.map(({ key }) => key);
    try {
      await this.#runner.run(script, keys, ['', ...words]);
    } catch (error) {
      if (!isFaultOfOne(error)) throw error;
      if (requests.length > 1) {
        await Promise.all(requests.map((request) => this.#release(script, [request])));
      }
    }
  }

  /** Wills that have become superfluous by what was answered. */
  #dropEnded(requests: readonly Request[], reply: unknown): void {
    const isAlone = requests.length === 1 && !isListOfServed(reply);
    const replies = isAlone ? [reply] : (reply as unknown[]);
    let hasEnded = false;
    for (const [index, request] of requests.entries()) {
      // The answer to several mutexes at once stands with the first of them.
      if (request.word !== 'also') {
        hasEnded = ENDS[request.word]?.(Number(replies[index])) ?? false;
      }
      if (hasEnded && !this.#isAskedAgain(request)) void this.#drop(willOf(request));
    }
  }

  /** By who was told that no answer came: its will is now that of the later request. */
  #isAskedAgain(request: Request): boolean {
    return ASKS.has(request.word) && this.#wills.get(willOf(request)) !== request;
  }

  async #drop(will: string): Promise<void> {
    const session = this.#session;
    if (!this.#wills.delete(will) || session === undefined) return;
    while (!(await this.#isDropped(session, will))) {
      await pause();
      const isLeftAgain = session === this.#session && this.#wills.has(will);
      if (this.#isClosed || isLeftAgain) return;
    }
  }

  /** False: the server may not have heard of it, and would end what was given away. */
  #isDropped({ id }: LiveSession, will: string): Promise<boolean> {
    return this.#say('DROP', id, will).then(
      () => true,
      (error: unknown) => ERROR_REPLY.test(messageOf(error)),
    );
  }

  #opened(): Promise<LiveSession> {
    if (this.#isClosed) return Promise.reject(new Error(CLOSED));
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<LiveSession> {
    const { open, command } = this.#options;
    const session = await open();
    try {
      await Promise.all([...this.#remains].map((remains) => this.#takeBack(remains)));
      const sha = String(await command(['SCRIPT', 'LOAD', LOCK_SCRIPT]));
      if (this.#isClosed) throw new Error(CLOSED);
      this.#session = session;
      void session.ended.then(() => this.#ended(session, { text: LOCK_SCRIPT, sha }));
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  #ended(session: LiveSession, script: Script): void {
    if (this.#session !== session) return;
    this.#session = undefined;
    const remains: Remains = { id: session.id, script, requests: [...this.#wills.values()] };
    this.#wills.clear();
    this.#remains.add(remains);
    this.#takeBack(remains).catch(() => {});
    this.#onLost(new SessionError('ended', ENDED));
    session.close();
  }

  #say(...words: string[]): Promise<unknown> {
    return this.#options.command(['HOLDFAST.WILL', ...words]);
  }
}

const CLOSED = 'the store is closed';
const ENDED = 'the session of these locks has ended, and the locks with it';

/** Instead of a fence. */
const NOT_THE_HOLDER = '-1';

/** The verbs after which something may be held, or stand in line. */
const ASKS: ReadonlySet<string> = new Set(['ask', 'line', 'all', 'also', 'adopt']);

/** Which answers mean that nothing is held any more, and nobody stands in line. */
const ENDS: Partial<Record<string, (reply: number) => boolean>> = {
  ask: (fence) => fence <= 0,
  all: (fence) => fence <= 0,
  adopt: (fence) => fence <= 0,
  extend: (isOurs) => isOurs === 0,
  release: () => true,
};

interface Request {
  readonly key: string;
  readonly verb: string;
  readonly word: string;
  readonly token: string;
  readonly owner: string;
}

/** What a session that has ended leaves: its wills, and what they were for. */
interface Remains {
  readonly id: string;
  readonly script: Script;
  readonly requests: readonly Request[];
  /** While it is under way. */
  takenBack?: Promise<void> | undefined;
}

/** What the server itself has answered, and would answer again. */
const ERROR_REPLY = /^[A-Z]+ /;

function unless(expected: RegExp): (error: unknown) => void {
  return (error) => {
    if (!expected.test(messageOf(error))) throw error;
  };
}

/** What a call of the lock script asks for: see its header. */
function requestsIn(keys: readonly string[], args: readonly string[]): Request[] {
  const words = toWords(args);
  return keys.map((key, index) => {
    const [verb, token] = words.slice(3 * index) as LockRequest;
    return { key, verb, token, word: firstWord(verb), owner: firstWord(token) };
  });
}

function firstWord(text: string): string {
  return text.split(' ', 1)[0]!;
}

/** The verb that undoes one that asks: a lock that is no mutex has numbers in it. */
function releaseOf(verb: string): string {
  const numbers = /^(?:ask|line|adopt) (\d+ \d+)/.exec(verb)?.[1];
  return numbers === undefined ? 'release' : `release ${numbers}`;
}

function willOf({ key, owner }: Pick<Request, 'key' | 'owner'>): string {
  return `${owner} ${key}`;
}

function pause(): Promise<void> {
  return new Promise((resolve) => systemClock.setTimer(PAUSE_MS, resolve));
}

async function firstOf(failures: readonly Promise<unknown>[]): Promise<unknown> {
  return (await Promise.all(failures)).find((each) => each !== undefined);
}

/**
 * Until all who were answered by the same bytes have been told: a grant among them must have become a
 * lease, or it would not be lost with the others.
 */
function turnOfAnswers(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

function isForgotten(failure: unknown): boolean {
  return /^NOSCRIPT/.test(messageOf(failure));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
