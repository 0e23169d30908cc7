import { lstatSync, utimesSync } from 'node:fs';
import { systemClock } from '../clock/index.ts';
import type { Engine } from '../engine/index.ts';
import { type Server, startServer } from '../server/index.ts';
import { type Place, socketOf, takePlace, temporarySocket } from './place.ts';

/** What looks older is made new: systems clear away old files in /tmp, after ten days or one. */
const OLD_MS = 3_600_000;

/** A server that has a place, by which clients come in. */
export class Entrance {
  readonly server: Server;
  readonly place: Place;
  readonly #path: string;
  readonly #inode: number | undefined;

  /** Of this number, or a higher one. Undefined: another server serves. */
  static async open(engine: Engine, folder: string, number: number): Promise<Entrance | undefined> {
    const temporary = temporarySocket(folder);
    const server = await startServer({ engine, unix: temporary });
    let place: Place | undefined;
    try {
      place = await takePlace(folder, temporary, number);
      return place && new Entrance(server, place, socketOf(folder, place.number));
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

  /** Whether its name leads to it. */
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
    // It is tried again at the next look.
  }
}
