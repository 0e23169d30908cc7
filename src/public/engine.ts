import type { Clock, Random } from '../clock/index.ts';
import {
  createEngine as createWholeEngine,
  execute as executeWhole,
  BLOCKED as WHOLE_BLOCKED,
  type Session as WholeSession,
} from '../engine/index.ts';
import { openLogFolder } from '../log/index.ts';
import type { Reply } from '../resp/index.ts';

export { LogError, type LogErrorCode } from '../log/index.ts';

/**
 * `holdfast/engine`: Redis semantics in this process, behind `holdfast serve` too. This type is what a program
 * needs of an engine; its key space, journal and statistics are internal.
 */
export interface Engine {
  /** Opens a session: one client, with its database, transaction and subscriptions. */
  session(listener?: SessionListener): Session;
  /** Closes all sessions and clears all timers. Safe to call twice. */
  close(): void;
}

/** One client of an engine. */
export interface Session {
  readonly id: number;
  /** Unsubscribes, discards the transaction and releases what the session holds. Safe to call twice. */
  close(): void;
}

/** Receives what a session sends besides the reply of `execute`. The engine calls it synchronously. */
export interface SessionListener {
  /** A message that is no reply: pub/sub, MONITOR. */
  push(reply: Reply): void;
  /** The reply of a command that returned BLOCKED. The session accepts commands again. */
  resume(reply: Reply): void;
  /** Another session closed this one (CLIENT KILL). */
  close(): void;
  /** The session uses too much memory: close it, and drop its unread replies. */
  evict?(reason: string): void;
}

export interface EngineOptions {
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's generator. */
  readonly random?: Random;
  /** First values of settings, by their CONFIG names: `{ maxmemory: '100mb' }`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A reply, or BLOCKED when the session's listener receives the reply later. */
export type Outcome = Reply | typeof BLOCKED;

/** The session waits, for example in BLPOP. A type of its own, so that declarations of the engine stay internal. */
export const BLOCKED: unique symbol = WHOLE_BLOCKED as never;

/**
 * Creates an engine with empty databases.
 *
 * @throws Error for an unknown setting, or a value that the setting does not take.
 * @example
 * const session = createEngine().session();
 * execute(session, ['SETNX', 'key', 'value']); // 1
 */
export function createEngine(options?: EngineOptions): Engine {
  return createWholeEngine(options);
}

/** An engine that keeps its data in a folder. */
export interface DurableEngine extends Engine {
  /**
   * Resolves when every command that has run is in the log: on the disk with `appendfsync: 'always'`, with the operating
   * system in the other modes. Do not tell anybody about a change before.
   */
  saved(): Promise<void>;
  /** Writes everything, and leaves the folder to others. `close` alone ends the engine without that. */
  end(): Promise<void>;
}

export interface DurableEngineOptions extends EngineOptions {
  /** The data folder. It is created if needed; no other engine or server may use it meanwhile. */
  readonly dir: string;
  /** Receives lines for the operator, such as a torn end of the log, or a full disk. Default: none. */
  readonly report?: (message: string) => void;
}

/**
 * Creates an engine with the data of a folder, and keeps its changes there. The format is that of `holdfast serve`.
 *
 * @throws LogError if the log is damaged, cannot be written, or is used by another process.
 * @example
 * const engine = await openEngine({ dir: './holdfast-data', settings: { appendfsync: 'always' } });
 * execute(engine.session(), ['SETNX', 'key', 'value']);
 * await engine.saved();
 */
export async function openEngine(options: DurableEngineOptions): Promise<DurableEngine> {
  const { dir, report, ...engineOptions } = options;
  const engine = createWholeEngine(engineOptions);
  const folder = await openLogFolder(dir, { engine, ...engineOptions, ...(report && { report }) });
  const { log } = folder;
  let waiting: { readonly number: number; readonly resolve: () => void }[] = [];
  log.onSettled = () => {
    for (const { number, resolve } of waiting) if (number <= log.settled) resolve();
    waiting = waiting.filter(({ number }) => number > log.settled);
  };
  return {
    session: (listener) => engine.session(listener),
    close: () => engine.close(),
    saved: () =>
      new Promise((resolve) => {
        const number = log.commit();
        if (number <= log.settled) resolve();
        else waiting.push({ number, resolve });
      }),
    async end() {
      await folder.close();
      engine.close();
    },
  };
}

/**
 * Runs one command and returns its reply. An error of the command is returned as an ErrorReply, not thrown.
 * After BLOCKED the session accepts no other command until its listener has received the reply.
 */
export function execute(session: Session, argv: readonly string[]): Outcome {
  return executeWhole(session as WholeSession, argv) as Outcome;
}
