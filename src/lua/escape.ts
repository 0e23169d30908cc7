import { PIECE_BYTES, spendMaking, spendReading } from './budget.ts';
import { plainError } from './error.ts';
import { LONGEST_STRING } from './operators.ts';

/** For each char code what is written in its place; undefined: itself. */
type EscapeTable = readonly (string | undefined)[];

export function escapeTable(escapes: Readonly<Record<string, string>>): EscapeTable {
  const table = new Array<string | undefined>(256).fill(undefined);
  for (const [char, replacement] of Object.entries(escapes))
    table[char.charCodeAt(0)] = replacement;
  return table;
}

/**
 * Writes the chars of the table in their other way. The length is counted first: a regular expression
 * with millions of matches would exceed the size of V8's arrays, which ends the process.
 */
export function escapeChars(text: string, table: EscapeTable): string {
  const length = escapedLength(text, table);
  if (length === text.length) return text;
  if (length > LONGEST_STRING) throw plainError('not enough memory');
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

/** A million chars are looked at between two looks at the clock. */
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
