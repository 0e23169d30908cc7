import { createHash } from 'node:crypto';
import { ErrorReply } from '../resp/index.ts';

/**
 * A Map whose keys are names that clients choose. V8 hashes a string of more than 16,383 chars by its length
 * alone: 3,000 names of 20 kB took half a minute to insert into a plain Map. Here the digest of a long name
 * takes its place.
 */
export class NameMap<Value> {
  readonly #values = new Map<string, Value>();

  get(name: string): Value | undefined {
    return this.#values.get(keyOf(name));
  }

  set(name: string, value: Value): void {
    this.#values.set(keyOf(name), value);
  }

  delete(name: string): void {
    this.#values.delete(keyOf(name));
  }
}

/** @throws ErrorReply for a name that is too long to be kept in a plain Map or Set. */
export function assertName(name: string): void {
  if (name.length > MAX_HASHED_LENGTH) throw TOO_LONG;
}

function keyOf(name: string): string {
  return name.length <= MAX_HASHED_LENGTH ? name : digestOf(name);
}

/** Begins with a char that no name has, since names are bytes. */
function digestOf(name: string): string {
  return `\u0100${createHash('sha256').update(name, 'latin1').digest('base64')}`;
}

/** What V8 reads of a string for its hash. */
const MAX_HASHED_LENGTH = 16_383;
const TOO_LONG = new ErrorReply(`ERR the name is too long (${MAX_HASHED_LENGTH} bytes at most)`);
