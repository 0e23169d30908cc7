import { PIECE_BYTES, spendMaking, spendReading } from './budget.ts';
import { plainError } from './error.ts';
import { MAX_STRING } from './operators.ts';

/** The replacement for each char code; undefined for a char that stays. */
type EscapeTable = readonly (string | undefined)[];

export function escapeTable(escapes: Readonly<Record<string, string>>): EscapeTable {
  const table = new Array<string | undefined>(256).fill(undefined);
  for (const [char, replacement] of Object.entries(escapes))
    table[char.charCodeAt(0)] = replacement;
  return table;
}

/**
 * Replaces the chars of the table. Computes the length first: a regular expression with millions of
 * matches would exceed the size of V8's arrays, which aborts the process.
 */
export function escapeChars(text: string, table: EscapeTable): string {
  const length = escapedLength(text, table);
  if (length === text.length) return text;
  if (length > MAX_STRING) throw plainError('not enough memory');
  spendMaking(2 * length + PIECE_BYTES);
  const bytes = Buffer.allocUnsafe(length);
  let to = 0;
  for (let at = 0; at < text.length; at++) {
    if ((at & CHUNK_MASK) === CHUNK_MASK) spendReading(CHUNK_MASK);
    const code = text.charCodeAt(at);
    const replacement = table[code];
    if (replacement === undefined) bytes[to++] = code;
    else
      for (let next = 0; next < replacement.length; next++)
        bytes[to++] = replacement.charCodeAt(next);
  }
  return bytes.toString('latin1');
}

/** About a million chars are processed between two reads of the clock. */
const CHUNK_MASK = 2 ** 20 - 1;

function escapedLength(text: string, table: EscapeTable): number {
  let length = text.length;
  for (let at = 0; at < text.length; at++) {
    if ((at & CHUNK_MASK) === CHUNK_MASK) spendReading(CHUNK_MASK);
    const replacement = table[text.charCodeAt(at)];
    if (replacement !== undefined) length += replacement.length - 1;
  }
  return length;
}
