import type { Random } from '../clock/index.ts';
import { ErrorReply } from '../resp/index.ts';
import { INT64_MIN, NOT_AN_INTEGER } from './errors.ts';
import { parseInteger } from './number.ts';
import { assertReplyItems } from './reply-items.ts';

/**
 * The random slots for SRANDMEMBER, HRANDFIELD or ZRANDMEMBER with a count. A positive count returns distinct slots,
 * at most `size`. A negative count returns exactly that many, which may repeat.
 */
export function sampleSlots(size: number, count: number, random: Random): number[] {
  if (count < 0) return repeatedSlots(size, -count, random);
  if (count >= size) return Array.from({ length: size }, (_, slot) => slot);
  return distinctSlots(size, count, random);
}

/** Parses the count of such a command. */
export function sampleCountArgument(text: string): number {
  const count = parseInteger(text);
  if (count === undefined) throw NOT_AN_INTEGER;
  if (count === INT64_MIN) throw NOT_NEGATABLE;
  return Number(count);
}

/** Floyd's algorithm: every combination is equally likely, in O(count) time and space. */
function distinctSlots(size: number, count: number, random: Random): number[] {
  const chosen = new Set<number>();
  for (let last = size - count; last < size; last++) {
    const slot = Math.floor(random.next() * (last + 1));
    chosen.add(chosen.has(slot) ? last : slot);
  }
  return [...chosen];
}

function repeatedSlots(size: number, count: number, random: Random): number[] {
  assertReplyItems(count);
  return Array.from({ length: count }, () => Math.floor(random.next() * size));
}

const NOT_NEGATABLE = new ErrorReply(
  'ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807',
);
