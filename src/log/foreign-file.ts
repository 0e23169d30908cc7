import { DEFAULT_REQUEST_LIMITS, ProtocolError, RequestDecoder } from '../resp/index.ts';
import type { Disk } from './disk.ts';
import { LogError } from './errors.ts';
import { LINE_BEGIN } from './frame.ts';
import { Window } from './window.ts';

/**
 * Visits the commands that Redis has written to an append-only file, from byte `begin` on. A command or a transaction
 * that is not complete at the end is skipped, as Redis does. Returns the number of bytes that were skipped.
 */
export function visitForeignFile(
  disk: Disk,
  name: string,
  begin: number,
  visitor: (argv: readonly string[]) => void,
): number {
  const window = new Window(disk, name);
  if (window.text(0, RDB.length) === RDB) throw hasRdb(`${disk.path}/${name}`);
  if (window.size > 0 && !isForeignAt(window, begin)) throw noLog(`${disk.path}/${name}`);
  const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS });
  const group = new Group(visitor);
  let read = begin;
  /** The end of the last command outside of a transaction. */
  let complete = begin;
  try {
    while (read < window.size) {
      // The decoder keeps what it has not decoded.
      const piece = Buffer.from(window.at(read, PIECE_BYTES));
      decoder.push(piece);
      read += piece.length;
      for (let argv = decoder.next(); argv !== null; argv = decoder.next()) {
        checkForeign(argv, disk, name);
        group.take(argv);
      }
      if (!group.isOpen) complete = read - decoder.bufferedBytes;
    }
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new LogError(
      'damaged',
      `${disk.path}/${name} is damaged before byte ${read}: ${error.message}. ` +
        'See redis-check-aof, or restore the folder from a backup.',
    );
  }
  return window.size - complete;
}

/** Whether a command of Redis begins here, or its annotation for the time. */
export function isForeignAt(window: Window, position: number): boolean {
  return /^(?:\*|#TS:)/.test(window.text(position, 4));
}

/** Holds the commands of a transaction until it is complete. */
class Group {
  readonly #visitor: (argv: readonly string[]) => void;
  #queued: (readonly string[])[] | undefined;

  constructor(visitor: (argv: readonly string[]) => void) {
    this.#visitor = visitor;
  }

  get isOpen(): boolean {
    return this.#queued !== undefined;
  }

  take(argv: readonly string[]): void {
    const name = argv[0]!.toUpperCase();
    if (name.startsWith('#')) return;
    if (name === 'MULTI') this.#queued = [];
    else if (name === 'EXEC') this.#end();
    else if (this.#queued !== undefined) this.#queued.push(argv);
    else this.#visitor(argv);
  }

  #end(): void {
    for (const argv of this.#queued ?? []) this.#visitor(argv);
    this.#queued = undefined;
  }
}

function noLog(path: string): LogError {
  return new LogError(
    'damaged',
    `${path} does not begin like an append-only file. Restore the folder from a backup.`,
  );
}

/** A file of ours whose first line is damaged must not pass for one of Redis, nor a frame for a command. */
function checkForeign([first]: readonly string[], { path }: Disk, name: string): void {
  if (!first!.startsWith(LINE_BEGIN)) return;
  throw new LogError(
    'damaged',
    `${path}/${name} is damaged: it has frames of Holdfast, but not from its begin on. Restore the folder from a backup.`,
  );
}

function hasRdb(path: string): LogError {
  return new LogError(
    'format',
    `${path} begins with a snapshot in Redis's RDB format, which Holdfast cannot load. On the Redis server run ` +
      'CONFIG SET aof-use-rdb-preamble no, then BGREWRITEAOF, and copy its folder again.',
  );
}

const RDB = 'REDIS';
const PIECE_BYTES = 256 * 1024;
