import { systemClock } from '../clock/index.ts';
import { createEngine, type Engine } from '../engine/index.ts';
import { Entrance } from './entrance.ts';
import { prepareFolder } from './folder.ts';
import { FolderWatch } from './folder-watch.ts';
import { holdsAnything } from './idleness.ts';
import { LOST_GRACE_MS } from './lost-grace.ts';
import { highestNumber, markEnd } from './place.ts';

/** How often the server looks whether it is needed, and whether it still has its place. */
const LOOK_MS = 500;
/** How long a server waits for its first client, however little patience it has later. */
const FIRST_CLIENT_MS = 1000;

/** How often a server tries to come back to its folder. */
const MOST_RETURNS = 400;
const RETURN_PAUSE_MS = 5;

export interface Serving {
  /** The server ends when nobody has needed it for so long. */
  readonly idleMs: number;
  /** Resolves when it is to end at once. */
  readonly asked: Promise<void>;
  /** Told when it serves. */
  onPlace(): void;
}

/** Serves the locks of a folder for as long as it is needed. Resolves at once if another server does so already. */
export async function serveLocally(folder: string, serving: Serving): Promise<void> {
  const engine = createEngine();
  try {
    const entrance = await Entrance.open(engine, folder, 1);
    if (entrance === undefined) return;
    serving.onPlace();
    await using server = new LocalServer(engine, entrance, folder);
    await server.serve(serving);
  } catch (error) {
    // Whoever has the place has cleared our name away before we could use it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    engine.close();
  }
}

class LocalServer implements AsyncDisposable {
  readonly #engine: Engine;
  readonly #folder: string;
  /** The last is the one by which clients come; the others have lost their names, but not their clients. */
  #entrances: Entrance[] = [];
  #isOver = false;
  /** When somebody was last seen, and how many had come by then. */
  #neededMs: number;
  #comers = 0;

  constructor(engine: Engine, entrance: Entrance, folder: string) {
    this.#engine = engine;
    this.#folder = folder;
    const graceMs = entrance.place.isFresh ? FIRST_CLIENT_MS : LOST_GRACE_MS;
    this.#neededMs = systemClock.monotonicMs() + graceMs;
    this.#add(entrance);
  }

  async serve({ idleMs, asked }: Serving): Promise<void> {
    void asked.then(() => this.#end());
    using watch = new FolderWatch(this.#folder);
    while (!this.#isOver) {
      await watch.change(Math.min(LOOK_MS, Math.max(1, idleMs / 4)));
      // What is removed before the new folder is watched would be seen too late.
      while (!this.#isOver && !this.#entrance.isOpen()) {
        await this.#comeBack();
        watch.renew();
      }
      if (this.#wasIdle(idleMs)) this.#end();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#entrances.map(({ server }) => server.close()));
  }

  get #entrance(): Entrance {
    return this.#entrances.at(-1)!;
  }

  #add(entrance: Entrance): void {
    const unused = this.#entrances.filter(({ server }) => server.connectionCount === 0);
    for (const { server } of unused) void server.close();
    this.#entrances = [...this.#entrances.filter((each) => !unused.includes(each)), entrance];
    // Everything that clients say until then is answered afterwards.
    if (!entrance.place.isFresh) this.#engine.pause.begin(LOST_GRACE_MS, 'all');
  }

  /**
   * Who empties the folder makes room for a second server. One that is needed takes its place again; if
   * another was faster it ends, so that its holders are told.
   */
  async #comeBack(): Promise<void> {
    const entrance = this.#isFree() ? undefined : await this.#openAgain();
    if (entrance !== undefined) this.#add(entrance);
    if (entrance === undefined || this.#isOver) this.#end();
  }

  /** Whoever empties the folder may not be done yet. */
  async #openAgain(): Promise<Entrance | undefined> {
    for (let left = MOST_RETURNS; left > 0 && !this.#isOver && this.#isVacant(); left--) {
      const { number } = this.#entrance.place;
      const entrance = await Entrance.open(this.#engine, this.#folder, number).catch(() => {});
      if (entrance) return entrance;
      await pause(RETURN_PAUSE_MS);
    }
    return undefined;
  }

  /** Else another server has removed the name, one that could not see us: on another machine. */
  #isVacant(): boolean {
    try {
      prepareFolder(this.#folder);
      return highestNumber(this.#folder) === 0;
    } catch (error) {
      // It was removed between two looks at it.
      const { code, cause } = error as { code: string; cause?: NodeJS.ErrnoException };
      return code === 'ENOENT' || cause?.code === 'ENOENT';
    }
  }

  #wasIdle(idleMs: number): boolean {
    const nowMs = systemClock.monotonicMs();
    if (this.#connectionCount > 0 || this.#engine.stats.sessions > this.#comers) {
      this.#neededMs = nowMs;
    }
    const mayEnd = nowMs - this.#neededMs >= idleMs;
    // To look through all keys takes time: not more often than it can matter.
    if (mayEnd && !this.#isFree()) this.#neededMs = nowMs;
    this.#comers = this.#engine.stats.sessions;
    return mayEnd && this.#neededMs < nowMs;
  }

  get #connectionCount(): number {
    return this.#entrances.reduce((sum, { server }) => sum + server.connectionCount, 0);
  }

  #isFree(): boolean {
    return this.#connectionCount === 0 && !holdsAnything(this.#engine);
  }

  /** Mark and end are one turn: nobody can come in between. */
  #end(): void {
    const { place } = this.#entrance;
    if (!this.#isOver && this.#entrance.isOpen() && this.#isFree()) {
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
