import { lstatSync, utimesSync } from 'node:fs';
import { systemClock } from '../clock/index.ts';
import { createEngine, type Engine } from '../engine/index.ts';
import { type Server, startServer } from '../server/index.ts';
import { holdsAnything } from './idleness.ts';
import { LOST_GRACE_MS } from './lost-grace.ts';
import { markEnd, type Place, socketOf, takePlace, temporarySocket } from './place.ts';

/** How often the server looks whether it is needed, and whether it still has its place. */
const LOOK_MS = 500;
/** How long a server waits for its first client, however little patience it has later. */
const FIRST_CLIENT_MS = 1000;
/** What looks older is made new: systems clear away old files in /tmp, after ten days or one. */
const OLD_MS = 3_600_000;

/**
 * Serves the locks of a folder until nobody has needed it for `idleMs`, or `asked` resolves. Resolves at
 * once if another server does so already.
 */
export async function serveLocally(
  folder: string,
  idleMs: number,
  asked: Promise<void>,
): Promise<void> {
  const engine = createEngine();
  try {
    const temporary = temporarySocket(folder);
    await using server = await listen(engine, temporary);
    const place = await takePlace(folder, temporary);
    if (place === undefined) return;
    await new LocalServer(engine, server, folder, place).serve(idleMs, asked);
  } catch (error) {
    // Whoever has the place has cleared our name away before we could use it.
    if (!isMissing(error)) throw error;
  } finally {
    engine.close();
  }
}

async function listen(engine: Engine, unix: string): Promise<Server & AsyncDisposable> {
  const server = await startServer({ engine, unix });
  return Object.assign(server, { [Symbol.asyncDispose]: () => server.close() });
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

class LocalServer {
  readonly #engine: Engine;
  readonly #server: Server;
  readonly #folder: string;
  readonly #place: Place;
  readonly #inode: number;
  #isOver = false;
  /** When somebody was last seen, and how many had come by then. */
  #neededMs: number;
  #comers = 0;

  constructor(engine: Engine, server: Server, folder: string, place: Place) {
    this.#engine = engine;
    this.#server = server;
    this.#folder = folder;
    this.#place = place;
    this.#inode = lstatSync(socketOf(folder, place.number)).ino;
    const graceMs = place.isFresh ? FIRST_CLIENT_MS : LOST_GRACE_MS;
    this.#neededMs = systemClock.monotonicMs() + graceMs;
    // Everything that clients say until then is answered afterwards.
    if (!place.isFresh) engine.pause.begin(LOST_GRACE_MS, 'all');
  }

  async serve(idleMs: number, asked: Promise<void>): Promise<void> {
    void asked.then(() => this.#end());
    while (!this.#isOver) {
      await pause(Math.min(LOOK_MS, Math.max(1, idleMs / 4)));
      if (!this.#hasPlace() || this.#wasIdle(idleMs)) this.#end();
    }
  }

  /** Who empties the folder would make room for a second server. */
  #hasPlace(): boolean {
    const path = socketOf(this.#folder, this.#place.number);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.ino !== this.#inode) return false;
    keepYoung(path, found.mtimeMs);
    return true;
  }

  #wasIdle(idleMs: number): boolean {
    const nowMs = systemClock.monotonicMs();
    if (this.#server.connectionCount > 0 || this.#engine.stats.sessions > this.#comers) {
      this.#neededMs = nowMs;
    }
    const mayEnd = nowMs - this.#neededMs >= idleMs;
    // To look through all keys takes time: not more often than it can matter.
    if (mayEnd && !this.#isFree()) this.#neededMs = nowMs;
    this.#comers = this.#engine.stats.sessions;
    return mayEnd && this.#neededMs < nowMs;
  }

  #isFree(): boolean {
    return this.#server.connectionCount === 0 && !holdsAnything(this.#engine);
  }

  /** Mark and end are one turn: nobody can come in between. */
  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#hasPlace() && this.#isFree()) markEnd(this.#folder, this.#place.number);
    void this.#server.close();
  }
}

function keepYoung(path: string, changedMs: number): void {
  const nowMs = systemClock.wallMs();
  if (nowMs - changedMs < OLD_MS) return;
  try {
    utimesSync(path, nowMs / 1000, nowMs / 1000);
  } catch {
    // It is tried again at the next look.
  }
}

function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => {
    systemClock.setTimer(durationMs, resolve).keepAlive(true);
  });
}
