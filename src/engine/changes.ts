import { GrowingBytes } from '../resp/index.ts';
import { NEVER } from './deadline-heap.ts';
import { wallText, writeAllElements, writeCommand, writeString } from './elements.ts';
import type { Collection, Value } from './value.ts';

/** The commands that describe a change of a collection. */
type Verb =
  | 'HSET'
  | 'HDEL'
  | 'SADD'
  | 'SREM'
  | 'ZADD'
  | 'ZREM'
  | 'LPUSH'
  | 'RPUSH'
  | 'LPOP'
  | 'RPOP'
  | 'LSET'
  | 'LREM'
  /** The whole collection: no single command has this effect. */
  | 'IMAGE';

interface CollectionChange {
  readonly verb: Verb;
  readonly args: string[];
}

/** The state of the record before a script, for `forgetSince`. */
export interface ChangesMark {
  readonly length: number;
  readonly commands: number;
  readonly database: number;
}

/**
 * Records what each unit of work has changed, as commands for the log. They are absolute: they give the new value, the
 * new element, the new deadline as a wall time. So they depend on nothing that is not in the log, and most may be
 * applied twice. Commands of one unit stand between MULTI and EXEC, unless it is only one.
 *
 * A collection does not know its key. It records its changes here, and `changed(key)` of the database adds the key.
 *
 * Changes of lists are relative (RPUSH). While the log is rewritten, they cannot be applied to the new base file, which
 * may have been written before or after them. So the first change of each list after `beginRewrite` records the whole
 * list.
 */
export class Changes {
  /** False: nothing is recorded. */
  isOn = false;
  /** Whether collections have changes whose keys are not known yet. */
  hasPending = false;
  /** A transaction that has recorded more gets errors for its further writes: a buffer has a limited size. */
  maxBytes = 512 * 2 ** 20;
  /** Added to a deadline to get the wall time. Stays the same until `clear`. */
  wallOffsetMs = 0;
  readonly #bytes = new GrowingBytes();
  #unitBegin = 0;
  /** The commands of the current unit. */
  #commands = 0;
  /** The database that the last SELECT has chosen; -1: none yet. */
  #database = -1;
  readonly #pending = new Map<Collection, CollectionChange[]>();
  /** While the log is rewritten: the lists that were recorded as a whole since. */
  #wholeLists: WeakSet<Collection> | undefined;

  /** Whether units have ended that were not taken. */
  get isEmpty(): boolean {
    return this.#unitBegin === 0;
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  get isFull(): boolean {
    return this.#bytes.length > this.maxBytes;
  }

  /** The key has a new value. `existed` tells whether it had another before. */
  set(database: number, key: string, value: Value, deadlineMs: number, existed: boolean): void {
    if (typeof value === 'string') {
      this.#begin(database);
      writeString(this.#bytes, key, value, deadlineMs, this.wallOffsetMs);
    } else {
      this.#pending.delete(value);
      this.#setCollection(database, key, value, existed);
      if (deadlineMs !== NEVER) this.deadline(database, key, deadlineMs);
    }
  }

  /** A part of a string was replaced or appended. */
  setPart(database: number, key: string, offset: number, part: string): void {
    this.#add(database, 'SETRANGE', key, [String(offset), part]);
  }

  deleted(database: number, key: string): void {
    this.#begin(database);
    this.#bytes.text('*2\r\n$3\r\nDEL\r\n');
    this.#bytes.bulk(key);
  }

  /** The key has a new deadline, or none: NEVER. */
  deadline(database: number, key: string, deadlineMs: number): void {
    if (deadlineMs === NEVER) this.#add(database, 'PERSIST', key, []);
    else this.#add(database, 'PEXPIREAT', key, [wallText(deadlineMs, this.wallOffsetMs)]);
  }

  flushed(database: number): void {
    this.#begin(database);
    this.#bytes.text('*1\r\n$7\r\nFLUSHDB\r\n');
  }

  swapped(first: number, second: number): void {
    this.#begin(first);
    writeCommand(this.#bytes, 'SWAPDB', String(first), [String(second)]);
    this.onSwap();
  }

  /** Called at the end of the first unit since `clear` that has changed something. */
  onFirstUnit: () => void = () => {};

  /** Called when two databases were exchanged. A rewrite must begin again: the keys that it has written are elsewhere. */
  onSwap: () => void = () => {};

  /** Records a change of a collection. Does nothing for one that is not stored at a key. */
  add(value: Collection, verb: Verb, first = '', second?: string): void {
    if (!value.isPart) return;
    this.hasPending = true;
    let changes = this.#pending.get(value);
    if (changes === undefined) {
      changes = [];
      this.#pending.set(value, changes);
    }
    const last = changes.at(-1);
    if (last?.verb === 'IMAGE') return;
    const args = second === undefined ? [first] : [first, second];
    if (verb === 'IMAGE' || (last !== undefined && wasEmpty(value, verb))) {
      changes.splice(0, changes.length, { verb: 'IMAGE', args });
    } else if (last === undefined || !joins(last, verb)) changes.push({ verb, args });
    else if (COUNTED.has(verb)) last.args[0] = String(Number(last.args[0]) + 1);
    else last.args.push(...args);
  }

  /** Writes the recorded changes of the collection at a key. */
  collectionChanged(
    database: number,
    key: string,
    value: Value | undefined,
    deadlineMs: number,
  ): void {
    if (typeof value !== 'object') return;
    const changes = this.#pending.get(value);
    if (changes === undefined) return;
    this.#pending.delete(value);
    this.hasPending = this.#pending.size > 0;
    if (changes[0]!.verb === 'IMAGE' || this.#needsWhole(value)) {
      this.#setCollection(database, key, value, true);
      if (deadlineMs !== NEVER) this.deadline(database, key, deadlineMs);
      return;
    }
    for (const { verb, args } of changes) this.#add(database, verb, key, args);
  }

  /** Ends a unit: its commands become one atomic group. */
  endUnit(): void {
    this.#forgetPending();
    if (this.#commands > 1) {
      this.#bytes.insert(this.#unitBegin, MULTI);
      this.#bytes.text(EXEC);
    }
    const isFirst = this.#unitBegin === 0 && this.#commands > 0;
    this.#commands = 0;
    this.#unitBegin = this.#bytes.length;
    if (isFirst) this.onFirstUnit();
  }

  /** The commands of all units that have ended. Valid until the next change. */
  view(): Buffer {
    return this.#bytes.view();
  }

  /** Drops the content, because it was written. */
  clear(wallOffsetMs: number): void {
    this.#bytes.clear();
    this.#unitBegin = 0;
    this.wallOffsetMs = wallOffsetMs;
  }

  /** A new file begins, which must choose its database. */
  beginFile(): void {
    this.#database = -1;
  }

  /** From now on a new base file is written. */
  beginRewrite(): void {
    this.#wholeLists = new WeakSet();
  }

  endRewrite(): void {
    this.#wholeLists = undefined;
  }

  mark(): ChangesMark {
    return {
      length: this.#bytes.length,
      commands: this.#commands,
      database: this.#database,
    };
  }

  /** Drops what was recorded since `mark`: the script is rolled back. */
  forgetSince({ length, commands, database }: ChangesMark): void {
    this.#bytes.cut(length);
    this.#commands = commands;
    this.#database = database;
    this.#forgetPending();
    // A list may have been recorded as a whole since then.
    if (this.#wholeLists !== undefined) this.#wholeLists = new WeakSet();
  }

  #forgetPending(): void {
    if (!this.hasPending) return;
    this.#pending.clear();
    this.hasPending = false;
  }

  #setCollection(database: number, key: string, value: Collection, existed: boolean): void {
    if (existed || this.#needsWhole(value)) this.deleted(database, key);
    if (value.type === 'list') this.#wholeLists?.add(value);
    if (value.size === 0) return;
    this.#begin(database);
    this.#commands += writeAllElements(this.#bytes, key, value) - 1;
  }

  #needsWhole(value: Collection): boolean {
    return this.#wholeLists !== undefined && value.type === 'list' && !this.#wholeLists.has(value);
  }

  #add(database: number, name: string, key: string, args: readonly string[]): void {
    this.#begin(database);
    writeCommand(this.#bytes, name, key, args);
  }

  #begin(database: number): void {
    this.#commands++;
    if (database === this.#database) return;
    this.#commands++;
    this.#database = database;
    this.#bytes.text('*2\r\n$6\r\nSELECT\r\n');
    this.#bytes.bulk(String(database));
  }
}

const MULTI = '*1\r\n$5\r\nMULTI\r\n';
const EXEC = '*1\r\n$4\r\nEXEC\r\n';

/** Verbs whose argument counts elements. */
const COUNTED: ReadonlySet<Verb> = new Set(['LPOP', 'RPOP']);
/** Verbs that take arguments of one change only. */
const SINGLE: ReadonlySet<Verb> = new Set(['LSET', 'LREM', 'IMAGE']);
const MAX_JOINED_ARGUMENTS = 128;

/** Whether LMOVE has put the only element back: applied one after the other, its changes would delete the key meanwhile. */
function wasEmpty(value: Collection, verb: Verb): boolean {
  return value.size === 1 && (verb === 'LPUSH' || verb === 'RPUSH');
}

/** Whether a change can be added to the arguments of the last one. */
function joins(last: CollectionChange, verb: Verb): boolean {
  return last.verb === verb && !SINGLE.has(verb) && last.args.length < MAX_JOINED_ARGUMENTS;
}
