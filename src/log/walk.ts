import {
  type Collection,
  type Database,
  type Engine,
  NEVER,
  type Value,
  wallText,
  writeElements,
  writeString,
} from '../engine/index.ts';
import { GrowingBytes } from '../resp/index.ts';

/**
 * Writes the state of an engine as commands, in slices, while other commands run in between. Every key and every
 * element that is not changed meanwhile is written, perhaps twice. What is changed meanwhile may be written before or
 * after the change, or be missing: the increment of the log that was opened before the walk has the changes.
 */
export class KeyWalk {
  readonly #engine: Engine;
  readonly #databases: Database[];
  readonly #bytes = new GrowingBytes();
  #cursor = 0;
  /** Collections of which a part is written. */
  readonly #parts: PartlyWritten[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#databases = engine.usedDatabases();
  }

  get isDone(): boolean {
    return this.#databases.length === 0;
  }

  /** The commands of the next keys, until the time is over. Valid until the next call. */
  slice(endMs: number): Buffer {
    this.#bytes.clear();
    this.#select();
    do this.#step();
    while (!this.isDone && this.#engine.clock.monotonicMs() < endMs);
    return this.#bytes.view();
  }

  #step(): void {
    if (this.#parts.length > 0) this.#continuePart();
    else {
      const [database] = this.#databases;
      // Also expired keys, until the log has their DEL: earlier changes in the increment would create them again, without a deadline.
      const write = this.#write.bind(this);
      this.#cursor = database!.scan(this.#cursor, KEYS_PER_STEP, write, Number.NEGATIVE_INFINITY);
    }
    if (this.#cursor > 0 || this.#parts.length > 0) return;
    this.#databases.shift();
    if (!this.isDone) this.#select();
  }

  #write(key: string, value: Value, deadlineMs: number): void {
    const { wallOffsetMs } = this.#engine.changes;
    if (typeof value === 'string') {
      writeString(this.#bytes, key, value, deadlineMs, wallOffsetMs);
      return;
    }
    this.#writeCollection(key, value);
    if (deadlineMs !== NEVER) this.#command('PEXPIREAT', key, wallText(deadlineMs, wallOffsetMs));
  }

  /** A list that is written twice must not have its elements twice. */
  #writeCollection(key: string, value: Collection): void {
    if (value.type === 'list') this.#command('DEL', key);
    const cursor = writeElements(this.#bytes, key, value, 0, ELEMENTS_PER_STEP);
    if (cursor !== 0) this.#parts.push({ key, value, cursor });
  }

  #continuePart(): void {
    const part = this.#parts[0]!;
    part.cursor = writeElements(this.#bytes, part.key, part.value, part.cursor, ELEMENTS_PER_STEP);
    if (part.cursor === 0) this.#parts.shift();
  }

  #select(): void {
    this.#command('SELECT', String(this.#databases[0]!.number));
  }

  #command(...argv: readonly string[]): void {
    this.#bytes.text(`*${argv.length}\r\n`);
    for (const argument of argv) this.#bytes.bulk(argument);
  }
}

interface PartlyWritten {
  readonly key: string;
  readonly value: Collection;
  cursor: number;
}

/** The time and the buffer are checked after each: a value may have 512 MB. */
const KEYS_PER_STEP = 1;
const ELEMENTS_PER_STEP = 64;
