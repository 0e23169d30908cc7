import { systemClock } from '../clock/index.ts';
import { createEngine, type Engine } from '../engine/index.ts';
import { prepareFolder } from './folder.ts';
import { FolderWatch } from './folder-watch.ts';
import { holdsAnything } from './idleness.ts';
import { Listener } from './listener.ts';
import { LOST_GRACE_MS } from './lost-grace.ts';
import { highestNumber, markEnd } from './place.ts';

/** How often the server checks that it has clients, and that it still has its place. */
const CHECK_MS = 500;
/** Minimum time that a server waits for its first client, also with a shorter idle time. */
const FIRST_CLIENT_MS = 1000;

/** How often a server tries to take a place again in its folder. */
const MAX_RETURNS = 400;
const RETURN_PAUSE_MS = 5;

export interface Serving {
  /** The server ends after this time without a client or a held lock. */
  readonly idleMs: number;
  /** Resolves when the server must end at once. */
  readonly stop: Promise<void>;
  /** Called when the server has its place. */
  onPlace(): void;
}

/** Serves the locks of a folder until it is idle. Resolves at once if another server serves it already. */
export async function serveLocally(folder: string, serving: Serving): Promise<void> {
  const engine = createEngine();
  try {
    const listener = await Listener.open(engine, folder, 1);
    if (listener === undefined) return;
    serving.onPlace();
    await using server = new LocalServer(engine, listener, folder);
    await server.serve(serving);
  } catch (error) {
    // The server that has the place removed the temporary socket of this one.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    engine.close();
  }
}

class LocalServer implements AsyncDisposable {
  readonly #engine: Engine;
  readonly #folder: string;
  /** New clients connect to the last one. The others have lost their names, but not their clients. */
  #listeners: Listener[] = [];
  #isOver = false;
  /** When the last client or held lock was seen, and the number of sessions until then. */
  #neededMs: number;
  #sessionCount = 0;

  constructor(engine: Engine, listener: Listener, folder: string) {
    this.#engine = engine;
    this.#folder = folder;
    const graceMs = listener.place.isFresh ? FIRST_CLIENT_MS : LOST_GRACE_MS;
    this.#neededMs = systemClock.monotonicMs() + graceMs;
    this.#add(listener);
  }

  async serve({ idleMs, stop }: Serving): Promise<void> {
    void stop.then(() => this.#end());
    using watch = new FolderWatch(this.#folder);
    while (!this.#isOver) {
      await watch.change(Math.min(CHECK_MS, Math.max(1, idleMs / 4)));
      // A removal before the new folder is watched would be noticed too late.
      while (!this.#isOver && !this.#listener.isOpen()) {
        await this.#comeBack();
        watch.renew();
      }
      if (this.#wasIdle(idleMs)) this.#end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#listeners.map(({ server }) => server.close()));
  }

  get #listener(): Listener {
    return this.#listeners.at(-1)!;
  }

  #add(listener: Listener): void {
    const unused = this.#listeners.filter(({ server }) => server.connectionCount === 0);
    for (const { server } of unused) void server.close();
    this.#listeners = [...this.#listeners.filter((each) => !unused.includes(each)), listener];
    // Requests during the pause are answered after it.
    if (!listener.place.isFresh) this.#engine.pause.begin(LOST_GRACE_MS, 'all');
  }

  /**
   * A program that empties the folder makes a second server possible. A server with clients takes its place again; if
   * another server was faster, this one ends, which notifies its holders.
   */
  async #comeBack(): Promise<void> {
    const listener = this.#isFree() ? undefined : await this.#openAgain();
    if (listener !== undefined) this.#add(listener);
    if (listener === undefined || this.#isOver) this.#end();
  }

  /** The program that empties the folder may still be at work. */
  async #openAgain(): Promise<Listener | undefined> {
    for (let left = MAX_RETURNS; left > 0 && !this.#isOver && this.#isVacant(); left--) {
      const { number } = this.#listener.place;
      const listener = await Listener.open(this.#engine, this.#folder, number).catch(() => {});
      if (listener) return listener;
      await pause(RETURN_PAUSE_MS);
    }
    return undefined;
  }

  /** False: another server, which could not see this one because it is on another machine, removed the name. */
  #isVacant(): boolean {
    try {
      prepareFolder(this.#folder);
      return highestNumber(this.#folder) === 0;
    } catch (error) {
      // The folder was removed between two calls.
      const { code, cause } = error as { code: string; cause?: NodeJS.ErrnoException };
      return code === 'ENOENT' || cause?.code === 'ENOENT';
    }
  }

  #wasIdle(idleMs: number): boolean {
    const nowMs = systemClock.monotonicMs();
    if (this.#connectionCount > 0 || this.#engine.stats.sessions > this.#sessionCount) {
      this.#neededMs = nowMs;
    }
    const mayEnd = nowMs - this.#neededMs >= idleMs;
    // Last: checking all keys takes time.
    if (mayEnd && !this.#isFree()) this.#neededMs = nowMs;
    this.#sessionCount = this.#engine.stats.sessions;
    return mayEnd && this.#neededMs < nowMs;
  }

  get #connectionCount(): number {
    return this.#listeners.reduce((sum, { server }) => sum + server.connectionCount, 0);
  }

  #isFree(): boolean {
    return this.#connectionCount === 0 && !holdsAnything(this.#engine);
  }

  /** Writes the mark and stops listening in one turn of the event loop: no client can connect in between. */
  #end(): void {
    const { place } = this.#listener;
    if (!this.#isOver && this.#listener.isOpen() && this.#isFree()) {
      markEnd(this.#folder, place.number);
    }
    this.#isOver = true;
    void this[Symbol.asyncDispose]();
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.setTimer(durationMs, resolve).keepAlive(true);
  });
}
