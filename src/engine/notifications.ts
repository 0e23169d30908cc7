import { ErrorReply } from '../resp/index.ts';
import { MAX_TOKEN_BYTES } from './text.ts';

/**
 * The classes of keyspace events and their letters, in the order in which CONFIG GET prints them. `A` is short for
 * all classes with `all`. As in Redis, `n` is not printed beside `A`, although `A` does not contain it.
 */
const CLASSES = [
  { name: 'generic', letter: 'g', bit: 1 << 2, all: true },
  { name: 'string', letter: '$', bit: 1 << 3, all: true },
  { name: 'list', letter: 'l', bit: 1 << 4, all: true },
  { name: 'set', letter: 's', bit: 1 << 5, all: true },
  { name: 'hash', letter: 'h', bit: 1 << 6, all: true },
  { name: 'zset', letter: 'z', bit: 1 << 7, all: true },
  { name: 'expired', letter: 'x', bit: 1 << 8, all: true },
  { name: 'evicted', letter: 'e', bit: 1 << 9, all: true },
  { name: 'stream', letter: 't', bit: 1 << 10, all: true },
  { name: 'module', letter: 'd', bit: 1 << 13, all: true },
  { name: 'new', letter: 'n', bit: 1 << 14, all: false },
  { name: 'keyspace', letter: 'K', bit: 1 << 0, all: false },
  { name: 'keyevent', letter: 'E', bit: 1 << 1, all: false },
  { name: 'miss', letter: 'm', bit: 1 << 11, all: false },
] as const;

export type EventClass = (typeof CLASSES)[number]['name'];

export const EVENT_BITS = Object.fromEntries(CLASSES.map(({ name, bit }) => [name, bit])) as Record<
  EventClass,
  number
>;

const ALL_BITS = CLASSES.reduce((bits, { all, bit }) => (all ? bits | bit : bits), 0);

/** The bits of a `notify-keyspace-events` value such as `KEA` or `Kx`. */
export function parseEventClasses(letters: string): number {
  let bits = 0;
  if (letters.length > MAX_TOKEN_BYTES) throw INVALID_CLASS;
  for (const letter of letters) {
    const found = CLASSES.find((each) => each.letter === letter);
    if (letter !== 'A' && found === undefined) {
      throw INVALID_CLASS;
    }
    bits |= found?.bit ?? ALL_BITS;
  }
  return bits;
}

const INVALID_CLASS = new ErrorReply("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");

export function formatEventClasses(bits: number): string {
  const hasAll = (bits & ALL_BITS) === ALL_BITS;
  const shown = CLASSES.filter(
    ({ name, bit, all }) => (bits & bit) !== 0 && !(hasAll && (all || name === 'new')),
  );
  return (hasAll ? 'A' : '') + shown.map(({ letter }) => letter).join('');
}
