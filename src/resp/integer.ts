import { textOf } from './text.ts';

/**
 * Parses a 64-bit integer in the form that Redis writes: no plus sign, leading zero, blank or `-0`. Returns null for
 * anything else, and a bigint only where a double would not be exact.
 */
export function parseInteger(bytes: Buffer, start: number, end: number): number | bigint | null {
  const length = end - start;
  if (length < 1 || length > MAX_LENGTH) return null;
  const text = textOf(bytes, start, end);
  if (!CANONICAL.test(text)) return null;
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  const exact = BigInt(text);
  return BigInt.asIntN(64, exact) === exact ? exact : null;
}

const CANONICAL = /^(?:0|-?[1-9][0-9]*)$/;
const MAX_LENGTH = '-9223372036854775808'.length;
