import type { Clock } from '../clock/index.ts';
import { LOCK_SCRIPT } from './lock-script.ts';
import { isListOfServed, type Script, type ScriptRunner } from './script-store.ts';
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
  readonly clock: Clock;
}

/** Between two tries to open a session again. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/**
 * Ties locks to a session: just before a lock is asked for, a will is left with the session to release it
 * again, which is dropped when the lock is released. If the process dies, its connection ends, and the
 * server runs the wills.
 *
 * A session can end while the process lives (CLIENT KILL, a network that fails for a while). Then its
 * wills have been run, or will be: each is taken back first, after which it cannot be run any more, and
 * then every lease is doubted, that is, renewed at once. Both travel over the same connection in this
 * order, so that a lease which the store still knows is safe, and any other is told of its loss. A new
 * session is opened, and the wills of what is left move to it.
 *
 * A will never speaks for the client's own channel: a waiter that it serves must be called by a message,
 * since nobody reads the reply.
 */
export class SessionRunner implements ScriptRunner {
  readonly #options: SessionRunnerOptions;
  readonly #runner: ScriptRunner;
  /** The commands of wills that are left, by their names. */
  readonly #wills = new Map<string, readonly string[]>();
  #session: LiveSession | undefined;
  #opening: Promise<LiveSession> | undefined;
  /** The session that wills were last left with. */
  #lastId = '';
  /** Sessions that have ended, and may still have some to run. */
  readonly #endedIds = new Set<string>();
  #onDoubt = (): void => {};
  #isClosed = false;

  constructor(options: SessionRunnerOptions) {
    this.#options = options;
    this.#runner = options.runner;
  }

  async run(script: Script, keys: string[], args: string[]): Promise<unknown> {
    if (script.text !== LOCK_SCRIPT) return this.#runner.run(script, keys, args);
    const requests = requestsIn(keys, args);
    const asked = requests.filter(({ word }) => ASKS.has(word));
    if (asked.length > 0) return this.#runWithWills(script, keys, args, asked);
    const reply = await this.#runner.run(script, keys, args);
    this.#dropEnded(requests, reply);
    return reply;
  }

  listen(channel: string, onMessage: (text: string) => void, onGap: () => void): Promise<void> {
    return this.#runner.listen(channel, onMessage, onGap);
  }

  /** Told when any lock may have been lost. */
  onDoubt(listener: () => void): void {
    this.#onDoubt = listener;
  }

  /** The lock is no longer to end with this session. */
  disown(key: string, owner: string): void {
    this.#drop(willOf(key, owner));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#session?.close();
    await this.#runner.close();
  }

  async #runWithWills(
    script: Script,
    keys: string[],
    args: string[],
    asked: readonly Request[],
  ): Promise<unknown> {
    const session = this.#session ?? (await this.#opened());
    const left = asked.map((request) => this.#leave(session, script, request));
    const reply = await this.#runner.run(script, keys, args);
    const failure = (await Promise.all(left)).find((each) => each !== undefined);
    if (failure !== undefined) await this.#leaveAgain(session, script, asked, failure);
    this.#dropEnded(requestsIn(keys, args), reply);
    return reply;
  }

  /** Resolves to what went wrong. */
  #leave(session: LiveSession, script: Script, request: Request): Promise<unknown> {
    const words = ['EVALSHA', script.sha, '1', this.#options.keyPrefix + request.key];
    const will = willOf(request.key, request.owner);
    const command = [...words, '', releaseOf(request.verb), request.token, '0'];
    this.#wills.set(will, command);
    return this.#set(session.id, will, command);
  }

  #set(id: string, will: string, command: readonly string[]): Promise<unknown> {
    return this.#say('SET', id, will, ...command).then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /**
   * What was asked for may be held without a will. Once more, since the server may have forgotten the
   * script, which it knows again by now, or the session; or the locks are given back.
   */
  async #leaveAgain(
    session: LiveSession,
    script: Script,
    asked: readonly Request[],
    failure: unknown,
  ): Promise<void> {
    try {
      if (/^NOSESSION/.test(messageOf(failure))) this.#ended(session);
      const current = this.#session ?? (await this.#opened());
      const left = asked.map((request) => this.#leave(current, script, request));
      const again = (await Promise.all(left)).find((each) => each !== undefined);
      if (again !== undefined) throw again;
    } catch (error) {
      this.#giveBack(script, asked);
      throw error;
    }
  }

  #giveBack(script: Script, asked: readonly Request[]): void {
    for (const { key, owner } of asked) this.#drop(willOf(key, owner));
    const keys = asked.map(({ key }) => key);
    const words = asked.flatMap(({ verb, token }) => [releaseOf(verb), token, '0']);
    this.#runner.run(script, keys, ['', ...words]).catch(() => {});
  }

  /** Wills that have become superfluous by what was answered. */
  #dropEnded(requests: readonly Request[], reply: unknown): void {
    const isAlone = requests.length === 1 && !isListOfServed(reply);
    const replies = isAlone ? [reply] : (reply as unknown[]);
    let isRefused = false;
    for (const [index, { word, key, owner }] of requests.entries()) {
      // The answer to several mutexes at once stands with the first of them.
      if (word !== 'also') isRefused = ENDS[word]?.(Number(replies[index])) ?? false;
      if (isRefused) this.#drop(willOf(key, owner));
    }
  }

  #drop(will: string): void {
    if (!this.#wills.delete(will)) return;
    this.#say('DROP', this.#lastId, will).catch(() => {});
  }

  #opened(): Promise<LiveSession> {
    if (this.#isClosed) return Promise.reject(new Error('the store is closed'));
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<LiveSession> {
    const { open, command } = this.#options;
    const session = await open();
    this.#lastId = session.id;
    try {
      await command(['SCRIPT', 'LOAD', LOCK_SCRIPT]);
      await this.#moveWills(session);
      if (this.#isClosed) throw new Error('the store is closed');
    } catch (error) {
      session.close();
      this.#doubt(session);
      throw error;
    }
    this.#session = session;
    void session.ended.then(() => this.#ended(session));
    if (this.#wills.size > 0) this.#onDoubt();
    return session;
  }

  async #moveWills({ id }: LiveSession): Promise<void> {
    const moves = [...this.#wills].flatMap(([will, command]) => [
      ...this.#takeBack(will),
      this.#set(id, will, command),
    ]);
    const failure = (await Promise.all(moves)).find((each) => each !== undefined);
    if (failure !== undefined) throw failure;
    this.#endedIds.clear();
  }

  /** Each resolves to what went wrong, unless the session has run all its wills. */
  #takeBack(will: string): Promise<unknown>[] {
    return [...this.#endedIds].map((id) =>
      this.#say('DROP', id, will).then(
        () => undefined,
        (error: unknown) => (/^NOSESSION/.test(messageOf(error)) ? undefined : error),
      ),
    );
  }

  #ended(session: LiveSession): void {
    if (this.#session !== session || this.#isClosed) return;
    this.#session = undefined;
    this.#doubt(session);
    if (this.#wills.size > 0) void this.#reopen();
  }

  /** What had a will there may have been released. */
  #doubt({ id }: LiveSession): void {
    if (this.#wills.size === 0) return;
    this.#endedIds.add(id);
    for (const will of this.#wills.keys()) void this.#takeBack(will);
    this.#onDoubt();
  }

  async #reopen(): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; !this.#isClosed && this.#session === undefined; ) {
      const failure = await this.#opened().catch((error: unknown) => error);
      // Of a session that somebody else opened there is no other.
      if (failure instanceof SessionError && failure.code === 'ended') return;
      const pause = pauseMs;
      await new Promise<void>((resolve) => this.#options.clock.setTimer(pause, resolve));
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }

  #say(...words: string[]): Promise<unknown> {
    return this.#options.command(['HOLDFAST.WILL', ...words]);
  }
}

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

/** What a call of the lock script asks for: see its header. */
function requestsIn(keys: readonly string[], args: readonly string[]): Request[] {
  return keys.map((key, index) => {
    const verb = args[3 * index + 1]!;
    const token = args[3 * index + 2]!;
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

function willOf(key: string, owner: string): string {
  return `${owner} ${key}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
