import { GrowingBytes } from '../resp/index.ts';
import { LOCK_EVENT_TYPES, type LockEvent } from './lock-event.ts';

export const BLOCK_EVENTS = 512;

/** Events in parallel arrays, and the bytes of their keys and tokens. A block is used again, so that it stays in memory. */
export class EventBlock {
  /** Three for each event: the time, the fence, and the id of the event before it in its chain. */
  readonly #numbers = new Float64Array(3 * BLOCK_EVENTS);
  /** Three for each event: its type and database, where its key begins, and where its token does. */
  readonly #facts = new Uint32Array(3 * BLOCK_EVENTS + 2);
  readonly #texts = new GrowingBytes();
  /** The length of all texts, those included that are not written yet. */
  #textBytes = 0;
  /** The texts that are not written yet: one call into C++ for many is faster than one for each. */
  readonly #unwritten: string[] = new Array(MAX_UNWRITTEN).fill('');
  #unwrittenCount = 0;

  /** The bytes that the history has counted. */
  countedBytes = 0;

  /** The allocated memory. */
  get capacity(): number {
    return COLUMNS_BYTES + this.#texts.capacity;
  }

  put(
    at: number,
    database: number,
    type: number,
    key: string,
    token: string,
    fence: number,
    atMs: number,
  ): void {
    const column = 3 * at;
    const tokenStart = this.#textBytes + key.length;
    const end = tokenStart + token.length;
    this.#numbers[column] = atMs;
    this.#numbers[column + 1] = fence;
    this.#facts[column] = database * MAX_TYPES + type;
    this.#facts[column + 1] = this.#textBytes;
    this.#facts[column + 2] = tokenStart;
    this.#facts[column + 4] = end;
    this.#textBytes = end;
    this.#unwritten[this.#unwrittenCount++] = key;
    this.#unwritten[this.#unwrittenCount++] = token;
    const isFull = this.#unwrittenCount === MAX_UNWRITTEN;
    if (isFull || key.length + token.length > LONG_TEXT) this.#write();
  }

  /** Removes the events from this place on. */
  cut(at: number): void {
    this.#write();
    if (at === 0) this.#texts.clear();
    else this.#texts.cut(this.#facts[3 * at + 1]!);
    this.#textBytes = this.#texts.length;
  }

  typeAt(at: number): number {
    return this.#facts[3 * at]! % MAX_TYPES;
  }

  isIn(at: number, database: number): boolean {
    return Math.floor(this.#facts[3 * at]! / MAX_TYPES) === database;
  }

  previousOf(at: number): number {
    return this.#numbers[3 * at + 2]!;
  }

  setPrevious(at: number, id: number): void {
    this.#numbers[3 * at + 2] = id;
  }

  keyAt(at: number): string {
    this.#write();
    return this.#texts.slice(this.#facts[3 * at + 1]!, this.#facts[3 * at + 2]!);
  }

  hasKey(at: number, key: string): boolean {
    const length = this.#facts[3 * at + 2]! - this.#facts[3 * at + 1]!;
    return length === key.length && this.keyAt(at) === key;
  }

  event(id: number): LockEvent {
    const at = id % BLOCK_EVENTS;
    const key = this.keyAt(at);
    return {
      id,
      atMs: this.#numbers[3 * at]!,
      type: LOCK_EVENT_TYPES[this.typeAt(at)]!,
      key,
      token: this.#texts.slice(this.#facts[3 * at + 2]!, this.#facts[3 * at + 4]!),
      fence: this.#numbers[3 * at + 1]!,
    };
  }

  #write(): void {
    if (this.#unwrittenCount === 0) return;
    this.#texts.text(this.#unwritten.join(''));
    this.#unwritten.fill('');
    this.#unwrittenCount = 0;
  }
}

const MAX_UNWRITTEN = 64;
/** A longer text is written at once: it is not counted before. */
const LONG_TEXT = 1024;
/** More than there are types. */
const MAX_TYPES = 16;
/** The memory of a block beside its texts. */
const COLUMNS_BYTES = BLOCK_EVENTS * (3 * 8 + 3 * 4) + 8 * MAX_UNWRITTEN + 512;
