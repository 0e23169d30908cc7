import { lstatSync, utimesSync } from 'node:fs';
import { systemClock } from '../clock/index.ts';
import type { Engine } from '../engine/index.ts';
import { type Server, startServer } from '../server/index.ts';
import { type Place, socketOf, takePlace, temporarySocket } from './place.ts';

/** Age at which the time of the socket file is refreshed: systems delete old files in /tmp, after one day or ten. */
const OLD_MS = 3_600_000;

/** A server that listens on the socket of its place. */
export class Listener {
  readonly server: Server;
  readonly place: Place;
  readonly #path: string;
  readonly #inode: number | undefined;

  /** Takes a place with this number, or a higher one. Undefined: another server serves. */
  static async open(engine: Engine, folder: string, number: number): Promise<Listener | undefined> {
    const temporary = temporarySocket(folder);
    const server = await startServer({ engine, unix: temporary });
    let place: Place | undefined;
    try {
      place = await takePlace(folder, temporary, number);
      return place && new Listener(server, place, socketOf(folder, place.number));
    } finally {
      if (place === undefined) await server.close();
    }
  }

  private constructor(server: Server, place: Place, path: string) {
    this.server = server;
    this.place = place;
    this.#path = path;
    this.#inode = lstatSync(path, { throwIfNoEntry: false })?.ino;
  }

  /** Whether the name of the socket still leads to this server. */
  isOpen(): boolean {
    const found = lstatSync(this.#path, { throwIfNoEntry: false });
    if (found === undefined || found.ino !== this.#inode) return false;
    keepYoung(this.#path, found.mtimeMs);
    return true;
  }
}

function keepYoung(path: string, changedMs: number): void {
  const nowMs = systemClock.wallMs();
  if (nowMs - changedMs < OLD_MS) return;
  try {
    utimesSync(path, nowMs / 1000, nowMs / 1000);
  } catch {
    // The next check tries again.
  }
}
