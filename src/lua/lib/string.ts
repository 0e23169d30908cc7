import { partOf } from '../../resp/index.ts';
import { PIECE_BYTES, spend, spendMaking, spendReading } from '../budget.ts';
import { callBack } from '../call.ts';
import { argumentError, libraryError, plainError } from '../error.ts';
import { format } from '../format.ts';
import { allocate, VALUE_BYTES } from '../memory.ts';
import { toText } from '../number.ts';
import { index, MAX_STRING } from '../operators.ts';
import { isPlain, Matcher } from '../pattern.ts';
import { indexOf } from '../search.ts';
import { state } from '../state.ts';
import { LuaTable } from '../table.ts';
import type { LuaValue, Results } from '../value.ts';
import { Builtin, first, isFunction, isTruthy, NOTHING, typeName } from '../value.ts';
import {
  expectFunction,
  expectInt,
  expectInteger,
  expectString,
  makeLibrary,
  optionalInt,
  optionalInteger,
} from './arguments.ts';

export const stringLibrary: LuaTable = makeLibrary({
  byte,
  char,
  dump: (args) => {
    expectFunction(args, 0);
    throw libraryError('unable to dump given function');
  },
  find: (args) => search(args, true),
  format,
  gfind: gmatch,
  gmatch,
  gsub,
  len: (args) => expectString(args, 0).length,
  lower: (args) => mapCase(expectString(args, 0), 65, 32),
  match: (args) => search(args, false),
  rep,
  reverse,
  sub,
  upper: (args) => mapCase(expectString(args, 0), 97, -32),
});

/** A position that counts from the end when it is negative. */
function fromEnd(position: number, length: number): number {
  if (position >= 0) return position;
  return Math.max(0, position + length + 1);
}

/** C Lua's limit on the values that one call may push. */
const MAX_SLICE = 8000;

function byte(args: LuaValue[]): Results {
  const text = expectString(args, 0);
  const from = fromEnd(optionalInteger(args, 1, 1), text.length);
  const to = fromEnd(optionalInteger(args, 2, from), text.length);
  const start = Math.max(1, from);
  const end = Math.min(to, text.length);
  if (start > end) return NOTHING;
  if (start === end) return text.charCodeAt(start - 1);
  if (end - start + 1 + args.length > MAX_SLICE) {
    throw libraryError('stack overflow (string slice too long)');
  }
  const count = end - start + 1;
  spend(count >>> 2);
  allocate(count * VALUE_BYTES);
  const codes: LuaValue[] = [];
  for (let at = start; at <= end; at++) codes.push(text.charCodeAt(at - 1));
  return codes;
}

function char(args: LuaValue[]): Results {
  spendMaking(args.length * PIECE_BYTES);
  let text = '';
  for (let at = 0; at < args.length; at++) {
    const code = expectInt(args, at);
    if (code < 0 || code > 255) throw argumentError(at + 1, 'invalid value');
    text += String.fromCharCode(code);
  }
  return text;
}

/** Throws if a text would exceed `MAX_STRING`. */
function checkLength(length: number): void {
  if (length > MAX_STRING) throw plainError('not enough memory');
}

function rep(args: LuaValue[]): Results {
  const text = expectString(args, 0);
  const count = expectInt(args, 1);
  if (count <= 0 || text === '') return '';
  const length = text.length * count;
  checkLength(length);
  spendMaking(length + PIECE_BYTES);
  return text.repeat(count);
}

function reverse(args: LuaValue[]): Results {
  const text = expectString(args, 0);
  checkLength(text.length);
  spendMaking(text.length * 2 + PIECE_BYTES);
  return Buffer.from(text, 'latin1').reverse().toString('latin1');
}

function sub(args: LuaValue[]): Results {
  const text = expectString(args, 0);
  const from = fromEnd(expectInteger(args, 1), text.length);
  const to = fromEnd(optionalInteger(args, 2, -1), text.length);
  const start = Math.max(1, from);
  const end = Math.min(to, text.length);
  if (start > end) return '';
  allocate(PIECE_BYTES + end - start);
  return partOf(text, start - 1, end);
}

/** Shifts the 26 letters from `start` on; other bytes, also those above 127, stay. */
function mapCase(text: string, start: number, shift: number): string {
  checkLength(text.length);
  spendMaking(text.length * 2 + PIECE_BYTES);
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at]!;
    if (code >= start && code < start + 26) bytes[at] = code + shift;
  }
  return bytes.toString('latin1');
}

/** string.find and string.match. */
function search(args: LuaValue[], isFind: boolean): Results {
  const subject = expectString(args, 0);
  const pattern = expectString(args, 1);
  const from = fromEnd(optionalInteger(args, 2, 1), subject.length) - 1;
  const start = Math.min(Math.max(0, from), subject.length);
  spendReading(pattern.length);
  if (isFind && (isTruthy(args[3]) || isPlain(pattern))) {
    return findPlain(subject, pattern, start);
  }
  const isAnchored = pattern[0] === '^';
  const matcher = new Matcher(subject, pattern);
  const last = isAnchored ? start : subject.length;
  for (let place = start; place <= last; place++) {
    const end = matcher.matchAt(place, isAnchored ? 1 : 0);
    if (end < 0) continue;
    if (!isFind) return matcher.captures(place, end);
    const found: LuaValue[] = [place + 1, end];
    return matcher.captureCount === 0 ? found : found.concat(matcher.captures(place, end));
  }
  return undefined;
}

function findPlain(subject: string, text: string, from: number): Results {
  const place = indexOf(subject, text, from);
  return place < 0 ? undefined : [place + 1, place + text.length];
}

/** Bytes that V8 uses for the iterator of string.gmatch. */
const ITERATOR_BYTES = 320;

function gmatch(args: LuaValue[]): Results {
  const subject = expectString(args, 0);
  const pattern = expectString(args, 1);
  allocate(ITERATOR_BYTES);
  const matcher = new Matcher(subject, pattern);
  let next = 0;
  return new Builtin(() => {
    for (let place = next; place <= subject.length; place++) {
      const end = matcher.matchAt(place, 0);
      if (end < 0) continue;
      next = end === place ? end + 1 : end;
      return matcher.captures(place, end);
    }
    next = subject.length + 1;
    return undefined;
  });
}

type Replacement = string | LuaTable | Parameters<typeof callBack>[0];

function gsub(args: LuaValue[]): Results {
  const subject = expectString(args, 0);
  const pattern = expectString(args, 1);
  const replacement = expectReplacement(args);
  const limit = optionalInt(args, 3, subject.length + 1);
  const isAnchored = pattern[0] === '^';
  const matcher = new Matcher(subject, pattern);
  let result = '';
  let kept = 0;
  let place = 0;
  let count = 0;
  while (count < limit) {
    const end = matcher.matchAt(place, isAnchored ? 1 : 0);
    if (end >= 0) {
      count += 1;
      const piece = replace(matcher, replacement, place, end);
      const added = place - kept + piece.length;
      checkLength(result.length + added);
      spendMaking(added + 3 * PIECE_BYTES);
      result += subject.slice(kept, place) + piece;
      kept = end;
    }
    if (end > place) place = end;
    else if (place < subject.length) place += 1;
    else break;
    if (isAnchored) break;
  }
  if (count === 0) return [subject, count];
  const rest = subject.length - kept;
  checkLength(result.length + rest);
  spendMaking(rest + PIECE_BYTES);
  return [result + subject.slice(kept), count];
}

function expectReplacement(args: LuaValue[]): Replacement {
  const value = args[2];
  const text = toText(value);
  if (text !== undefined) return text;
  if (value instanceof LuaTable || isFunction(value)) return value;
  throw argumentError(3, 'string/function/table expected');
}

function replace(matcher: Matcher, replacement: Replacement, start: number, end: number): string {
  if (typeof replacement === 'string') return expand(matcher, replacement, start, end);
  const value =
    replacement instanceof LuaTable
      ? index(replacement, matcher.capture(0, start, end), state.site, undefined)
      : first(callBack(replacement, matcher.captures(start, end)));
  if (!isTruthy(value)) return matcher.subject.slice(start, end);
  const text = toText(value);
  if (text === undefined) {
    throw libraryError(`invalid replacement value (a ${typeName(value)})`);
  }
  return text;
}

/** Replaces `%0` to `%9` in a replacement text. Before another char the percent sign is dropped. */
function expand(matcher: Matcher, replacement: string, start: number, end: number): string {
  let text = '';
  let at = 0;
  for (;;) {
    const mark = replacement.indexOf('%', at);
    if (mark < 0) return at === 0 ? replacement : append(text, replacement.slice(at));
    const filled = fill(matcher, replacement[mark + 1] ?? '\0', start, end);
    text = append(append(text, replacement.slice(at, mark)), filled);
    at = mark + 2;
  }
}

function fill(matcher: Matcher, escaped: string, start: number, end: number): string {
  if (escaped < '0' || escaped > '9') return escaped;
  if (escaped === '0') return matcher.subject.slice(start, end);
  return toText(matcher.capture(escaped.charCodeAt(0) - 49, start, end))!;
}

/** Concatenates two pieces and charges their length. */
function append(text: string, piece: string): string {
  checkLength(text.length + piece.length);
  spendMaking(piece.length + PIECE_BYTES);
  return text + piece;
}
