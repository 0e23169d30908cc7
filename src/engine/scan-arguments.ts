import { ErrorReply, type Reply } from '../resp/index.ts';
import { NOT_AN_INTEGER, SYNTAX_ERROR } from './errors.ts';
import { globFilter } from './glob.ts';
import { parseInteger } from './number.ts';
import { lower, MAX_TOKEN_BYTES, upper } from './text.ts';

/** The arguments of SCAN, SSCAN, HSCAN and ZSCAN. */
export interface ScanArguments {
  readonly cursor: number;
  readonly count: number;
  /** Whether a name matches MATCH. */
  readonly admits: (name: string) => boolean;
  /** SCAN's TYPE, in lower case. */
  readonly type: string | undefined;
}

/** Parses the cursor at `at` and the options after it. Only SCAN accepts TYPE. */
export function scanArguments(argv: readonly string[], at: number): ScanArguments {
  const cursor = parseCursor(argv[at]!);
  let count = 10;
  let pattern: string | undefined;
  let type: string | undefined;
  for (let next = at + 1; next < argv.length; next += 2) {
    const word = upper(argv[next]!);
    const value = argv[next + 1];
    if (value === undefined) throw SYNTAX_ERROR;
    if (word === 'COUNT') count = parseCount(value);
    else if (word === 'MATCH') pattern = value === '*' ? undefined : value;
    else if (word === 'TYPE' && at === 1) type = lower(value);
    else throw SYNTAX_ERROR;
  }
  const admits = pattern === undefined ? () => true : globFilter(pattern);
  return { cursor, count, admits, type };
}

export function scanReply(cursor: number, items: readonly Reply[]): Reply {
  return [String(cursor), items];
}

/**
 * Parses an unsigned 64-bit number like C's strtoul: an empty text is zero. As in Redis, SSCAN, HSCAN and ZSCAN
 * check the cursor first, then the key, then the options.
 */
export function parseCursor(text: string): number {
  if (text.length > MAX_TOKEN_BYTES) throw INVALID_CURSOR;
  const [shown = ''] = text.split('\0', 1);
  const digits = shown === '' ? '0' : /^[+-]?(\d+)$/.exec(shown)?.[1];
  if (digits === undefined) throw INVALID_CURSOR;
  if (digits.length >= 20 && BigInt(digits) >= CURSOR_LIMIT) throw INVALID_CURSOR;
  return Number(digits);
}

const CURSOR_LIMIT = 2n ** 64n;
const INVALID_CURSOR = new ErrorReply('ERR invalid cursor');

function parseCount(text: string): number {
  const count = parseInteger(text);
  if (count === undefined) throw NOT_AN_INTEGER;
  if (count < 1) throw SYNTAX_ERROR;
  return Number(count);
}
