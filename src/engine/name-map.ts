import { createHash } from 'node:crypto';
import { systemRandom } from '../clock/index.ts';
import { ErrorReply } from '../resp/index.ts';
import { nameHash } from './name-hash.ts';

/**
 * A Map whose keys are chosen by clients. A plain Map has two problems with them:
 *
 * - V8 hashes a string of more than 16,383 chars by its length alone: 3,000 names of 20 kB took half a
 *   minute to insert. A NameMap uses the digest of a long name instead.
 * - A Map doubles in one step: with eight million names that took 2.7 seconds. A large NameMap is
 *   therefore split into many Maps, each of which grows alone.
 */
export class NameMap<Value> {
  #parts: Map<string, Value>[] = [new Map()];

  get(name: string): Value | undefined {
    const key = keyOf(name);
    return this.#partOf(key).get(key);
  }

  set(name: string, value: Value): void {
    const key = keyOf(name);
    const part = this.#partOf(key);
    part.set(key, value);
    if (this.#parts.length === 1 && part.size > LARGE) this.#split();
  }

  delete(name: string): void {
    const key = keyOf(name);
    this.#partOf(key).delete(key);
  }

  #partOf(key: string): Map<string, Value> {
    if (this.#parts.length === 1) return this.#parts[0]!;
    return this.#parts[nameHash(key, SEED) & (PARTS - 1)]!;
  }

  #split(): void {
    const whole = this.#parts[0]!;
    this.#parts = Array.from({ length: PARTS }, () => new Map());
    for (const [key, value] of whole) this.#partOf(key).set(key, value);
  }
}

/** @throws ErrorReply for a name that is too long to be kept in a plain Map or Set. */
export function assertName(name: string): void {
  if (name.length > MAX_HASHED_LENGTH) throw TOO_LONG;
}

function keyOf(name: string): string {
  return name.length <= MAX_HASHED_LENGTH ? name : digestOf(name);
}

/** Begins with a char above 255, which no name has, since names are bytes. */
function digestOf(name: string): string {
  return `\u0100${createHash('sha256').update(name, 'latin1').digest('base64')}`;
}

/** The longest string of which V8 hashes every char. */
const MAX_HASHED_LENGTH = 16_383;
const LARGE = 100_000;
const PARTS = 64;
/** Random for each process. It only selects the Map that a name is in, which is not visible to callers. */
const SEED = (systemRandom.next() * 2 ** 32) | 0;
const TOO_LONG = new ErrorReply(`ERR the name is too long (${MAX_HASHED_LENGTH} bytes at most)`);
