import { setMaxListeners } from 'node:events';
import type { Script, ScriptRunner } from '../../client/index.ts';
import type { Clock } from '../../clock/index.ts';
import { retry } from '../../lock/index.ts';
import { SCRIPT } from '../redis/lock-script.ts';
import { inTime } from './in-time.ts';
import { SessionError } from './session.ts';

/** An open session. It ends when its connection ends. */
export interface LiveSession {
  readonly id: string;
  readonly ended: Promise<void>;
  close(): unknown;
}

export interface LockSessionOptions {
  readonly scripts: ScriptRunner;
  /** Sends a plain command, in order with the scripts. */
  command(args: string[]): Promise<unknown>;
  /** The client puts this before the keys of scripts, but not of plain commands. */
  readonly keyPrefix: string;
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
  /** Opens a session. Called again when one has ended. */
  open(): Promise<LiveSession>;
}

/**
 * Ties the locks of a store to a session of the server. The lock script records each token with the session. When the
 * session ends, the server runs its exit command, which releases the recorded locks.
 *
 * A session can end while the process is alive: by CLIENT KILL, or a network failure. Then all its locks are lost, and
 * their holders are notified. Before the next session is used, this client runs the exit command of the last one itself:
 * the server may notice the end later, and would then release locks that were granted since. After that, the lock script
 * refuses late requests of the old session (NOSESSION).
 */
export class LockSession {
  readonly ended = new SessionError(
    'ended',
    'the session of these locks has ended, and the locks with it',
  );
  readonly #options: LockSessionOptions;
  #live: LiveSession | undefined;
  #opening: Promise<string> | undefined;
  /** Sessions that have ended, and whose exit command is not known to have run. */
  readonly #toExit = new Set<string>();
  #onEnded = (_reason: Error): void => {};
  readonly #closing = new AbortController();

  constructor(options: LockSessionOptions) {
    // After an outage many sessions may have to end at the same time, each with a listener.
    setMaxListeners(0, this.#closing.signal);
    this.#options = options;
  }

  /** Undefined: none is open. */
  get id(): string | undefined {
    return this.#live?.id;
  }

  onEnded(listener: (reason: Error) => void): void {
    this.#onEnded = listener;
  }

  /** Returns the id of the session. Opens one if none is open. */
  open(): Promise<string> {
    if (this.#live !== undefined) return Promise.resolve(this.#live.id);
    if (this.#closing.signal.aborted) return Promise.reject(new Error(CLOSED));
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** Handles the end of the session with this id. Ignored if another one is open. */
  lost(id: string | undefined): void {
    const live = this.#live;
    if (live === undefined || live.id !== id) return;
    this.#live = undefined;
    this.#toExit.add(id);
    this.#onEnded(this.ended);
    void this.#exitUntilDone(id);
    live.close();
  }

  /** Adds a script that the server runs when the session ends. Ignored if no session is open. */
  async setExit(name: string, script: Script, key: string, args: readonly string[]): Promise<void> {
    if (this.#live === undefined) return;
    const keys = [this.#options.keyPrefix + key];
    await this.#setExit(this.#live.id, name, script, keys, args);
  }

  async dropExit(name: string): Promise<void> {
    if (this.#live === undefined) return;
    await this.#options.command(['HOLDFAST.WILL', 'DROP', this.#live.id, name]);
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error(CLOSED));
    const live = this.#live;
    this.#live = undefined;
    await live?.close();
  }

  async #open(): Promise<string> {
    const live = await this.#options.open();
    try {
      await Promise.all([...this.#toExit].map((id) => this.#exit(id)));
      await this.#setExit(live.id, 'locks', SCRIPT, [], [live.id, 'exit']);
      await this.#inTime(this.#options.scripts.run(SCRIPT, [], [live.id, 'open']));
      this.#closing.signal.throwIfAborted();
    } catch (error) {
      this.#toExit.add(live.id);
      live.close();
      throw error;
    }
    this.#live = live;
    void live.ended.then(() => this.lost(live.id));
    return live.id;
  }

  /** Runs the exit command until no locks are left. The server may run it at the same time, which does no harm. */
  async #exit(id: string): Promise<void> {
    const { scripts } = this.#options;
    const run = (): Promise<unknown> => this.#inTime(scripts.run(SCRIPT, [], [id, 'exit']));
    while (String(await run()) === 'AGAIN');
    this.#toExit.delete(id);
  }

  /** Retries, since the server may notice the end of the session much later, or never. */
  async #exitUntilDone(id: string): Promise<void> {
    const { signal } = this.#closing;
    const retrying = {
      clock: this.#options.clock,
      get closed() {
        return signal.aborted ? signal : undefined;
      },
      pause: (durationMs: number) => this.#pause(durationMs),
    };
    await retry(retrying, Number.POSITIVE_INFINITY, () => this.#exit(id)).catch(() => {});
  }

  #pause(durationMs: number): Promise<void> {
    const { signal } = this.#closing;
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = this.#options.clock.setTimer(durationMs, end);
      signal.addEventListener('abort', end);
    });
  }

  /** Loads the script right before, so that no SCRIPT FLUSH comes between. */
  async #setExit(
    id: string,
    name: string,
    { text, sha }: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<void> {
    const { command } = this.#options;
    const call = ['EVALSHA', sha, String(keys.length), ...keys, ...args];
    const load = command(['SCRIPT', 'LOAD', text]);
    const set = command(['HOLDFAST.WILL', 'SET', id, name, ...call]);
    await this.#inTime(Promise.all([load, set]));
  }

  #inTime<Result>(promise: Promise<Result>): Promise<Result> {
    const { clock, requestTimeoutMs } = this.#options;
    return inTime(clock, requestTimeoutMs, promise, this.#closing.signal);
  }
}

const CLOSED = 'the store is closed';
