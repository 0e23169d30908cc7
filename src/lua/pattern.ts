import { partOf } from '../resp/index.ts';
import { spend } from './budget.ts';
import { libraryError } from './error.ts';
import { allocate } from './memory.ts';
import type { LuaValue } from './value.ts';

/** Lengths that mark an open capture, and a position capture `()`. */
const UNFINISHED = -1;
const POSITION = -2;

const MAX_CAPTURES = 32;

/** Looking a char up in a set up to this length counts as part of the step. */
const SHORT_SET = 16;

/** How deep quantifiers and captures of one pattern may nest before it is refused. */
const MAX_MATCH_DEPTH = 200;

/** Maximum length of a pattern. Parsing a longer one would take too long for one step. */
const MAX_PATTERN = 1024 * 1024;

/** Bytes that V8 uses for a captured string in a list of results. */
const CAPTURE_BYTES = 40;

const NUL = 0;
const DOLLAR = 36;
const PERCENT = 37;
const OPEN = 40;
const CLOSE = 41;
const STAR = 42;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const QUESTION = 63;
const OPEN_SET = 91;
const CLOSE_SET = 93;
const CARET = 94;
const LOWER_B = 98;
const LOWER_F = 102;

/**
 * Lua's patterns, matched by backtracking as in C Lua. `match` recurses only where it may have to
 * backtrack: at captures and quantifiers. So the recursion depth depends on the pattern, not on the subject.
 * Each step is charged, because a short pattern can backtrack for ever. A pattern ends at its first NUL,
 * as in C.
 */
export class Matcher {
  readonly subject: string;
  private readonly pattern: string;
  private readonly end: number;
  private readonly starts: number[] = [];
  private readonly lengths: number[] = [];
  private level = 0;
  private depth = 0;

  constructor(subject: string, pattern: string) {
    if (pattern.length > MAX_PATTERN) throw libraryError('pattern too complex');
    spend(pattern.length >>> 4);
    this.subject = subject;
    const nul = pattern.indexOf('\0');
    this.pattern = nul < 0 ? pattern : pattern.slice(0, nul);
    this.end = this.pattern.length;
  }

  /** Matches the pattern from `from` on at one place. Returns the end of the match, or -1. */
  matchAt(place: number, from: number): number {
    this.level = 0;
    this.depth = 0;
    return this.match(place, from);
  }

  get captureCount(): number {
    return this.level;
  }

  /** A capture's value. If the pattern has no captures, the whole match is the first one. */
  capture(index: number, start: number, end: number): LuaValue {
    if (index >= this.level) {
      if (index !== 0) throw libraryError('invalid capture index');
      return partOf(this.subject, start, end);
    }
    const length = this.lengths[index]!;
    if (length === POSITION) return this.starts[index]! + 1;
    if (length === UNFINISHED) throw libraryError('unfinished capture');
    return partOf(this.subject, this.starts[index]!, this.starts[index]! + length);
  }

  /** All captures, or the whole match if there are none. */
  captures(start: number, end: number): LuaValue[] {
    const count = this.level === 0 ? 1 : this.level;
    allocate(count * CAPTURE_BYTES);
    const values: LuaValue[] = [];
    for (let index = 0; index < count; index++) values.push(this.capture(index, start, end));
    return values;
  }

  private match(place: number, from: number): number {
    this.depth += 1;
    if (this.depth > MAX_MATCH_DEPTH) throw libraryError('pattern too complex');
    const result = this.matchItems(place, from);
    this.depth -= 1;
    return result;
  }

  private matchItems(from: number, start: number): number {
    const { pattern, subject, end } = this;
    let place = from;
    let at = start;
    while (at < end) {
      spend(1);
      const code = pattern.charCodeAt(at);
      if (code === OPEN) return this.openCapture(place, at);
      if (code === CLOSE) return this.closeCapture(place, at + 1);
      if (code === DOLLAR && at + 1 === end) return place === subject.length ? place : -1;
      if (code === PERCENT) {
        const next = this.matchEscape(place, at);
        if (next !== NO_ESCAPE) {
          if (next < 0) return -1;
          place = next;
          at += this.escapeLength(at);
          continue;
        }
      }
      const after = this.classEnd(at);
      // A set of many chars is scanned to its end.
      if (after - at > SHORT_SET) spend((after - at) >>> 2);
      const quantifier = after < end ? pattern.charCodeAt(after) : NUL;
      if (quantifier === STAR) return this.matchMost(place, at, after, 0);
      if (quantifier === PLUS) return this.matchMost(place, at, after, 1);
      if (quantifier === MINUS) return this.matchLeast(place, at, after);
      const isMatch = this.matchesOne(place, at, after);
      if (quantifier === QUESTION) {
        if (isMatch) {
          const rest = this.match(place + 1, after + 1);
          if (rest >= 0) return rest;
        }
        at = after + 1;
        continue;
      }
      if (!isMatch) return -1;
      place += 1;
      at = after;
    }
    return place;
  }

  /** `%b`, `%f` and `%1`: the place after them, -1 for no match, NO_ESCAPE for a plain class. */
  private matchEscape(place: number, at: number): number {
    const code = at + 1 < this.end ? this.pattern.charCodeAt(at + 1) : NUL;
    if (code === LOWER_B) return this.matchBalance(place, at + 2);
    if (code === LOWER_F) return this.matchFrontier(place, at + 2);
    if (code >= 48 && code <= 57) return this.matchBack(place, code - 49);
    return NO_ESCAPE;
  }

  private escapeLength(at: number): number {
    const code = this.pattern.charCodeAt(at + 1);
    if (code === LOWER_B) return 4;
    return code === LOWER_F ? this.classEnd(at + 2) - at : 2;
  }

  private matchBalance(place: number, at: number): number {
    if (at + 1 >= this.end) throw libraryError('unbalanced pattern');
    const { subject } = this;
    const open = this.pattern.charCodeAt(at);
    const close = this.pattern.charCodeAt(at + 1);
    if (place >= subject.length || subject.charCodeAt(place) !== open) return -1;
    let nesting = 1;
    for (let here = place + 1; here < subject.length; here++) {
      spend(1);
      const code = subject.charCodeAt(here);
      if (code === close) {
        nesting -= 1;
        if (nesting === 0) return here + 1;
      } else if (code === open) nesting += 1;
    }
    return -1;
  }

  private matchFrontier(place: number, at: number): number {
    if (this.pattern.charCodeAt(at) !== OPEN_SET) {
      throw libraryError("missing '[' after '%f' in pattern");
    }
    const after = this.classEnd(at);
    spend((after - at) >>> 2);
    const before = place === 0 ? NUL : this.subject.charCodeAt(place - 1);
    const here = place < this.subject.length ? this.subject.charCodeAt(place) : NUL;
    if (this.inSet(before, at, after - 1) || !this.inSet(here, at, after - 1)) return -1;
    return place;
  }

  private matchBack(place: number, index: number): number {
    if (index < 0 || index >= this.level || this.lengths[index] === UNFINISHED) {
      throw libraryError('invalid capture index');
    }
    const length = this.lengths[index]!;
    const start = this.starts[index]!;
    if (length < 0) return -1;
    spend(length >>> 4);
    const text = this.subject.slice(start, start + length);
    return this.subject.startsWith(text, place) ? place + length : -1;
  }

  private openCapture(place: number, at: number): number {
    const isPosition = at + 1 < this.end && this.pattern.charCodeAt(at + 1) === CLOSE;
    if (this.level >= MAX_CAPTURES) throw libraryError('too many captures');
    this.starts[this.level] = place;
    this.lengths[this.level] = isPosition ? POSITION : UNFINISHED;
    this.level += 1;
    const result = this.match(place, isPosition ? at + 2 : at + 1);
    if (result < 0) this.level -= 1;
    return result;
  }

  private closeCapture(place: number, at: number): number {
    let index = this.level - 1;
    while (index >= 0 && this.lengths[index] !== UNFINISHED) index -= 1;
    if (index < 0) throw libraryError('invalid pattern capture');
    this.lengths[index] = place - this.starts[index]!;
    const result = this.match(place, at);
    if (result < 0) this.lengths[index] = UNFINISHED;
    return result;
  }

  /** `*` and `+`: greedy, then backtracks one char at a time. */
  private matchMost(place: number, at: number, after: number, least: number): number {
    const cost = 1 + ((after - at) >>> 2);
    let count = 0;
    while (this.matchesOne(place + count, at, after)) {
      spend(cost);
      count += 1;
    }
    for (; count >= least; count--) {
      const result = this.match(place + count, after + 1);
      if (result >= 0) return result;
    }
    return -1;
  }

  /** `-`: non-greedy. */
  private matchLeast(from: number, at: number, after: number): number {
    for (let place = from; ; place++) {
      const result = this.match(place, after + 1);
      if (result >= 0) return result;
      spend((after - at) >>> 2);
      if (!this.matchesOne(place, at, after)) return -1;
    }
  }

  private matchesOne(place: number, at: number, after: number): boolean {
    if (place >= this.subject.length) return false;
    const code = this.subject.charCodeAt(place);
    const item = this.pattern.charCodeAt(at);
    if (item === DOT) return true;
    if (item === PERCENT) return inClass(code, this.pattern.charCodeAt(at + 1));
    if (item === OPEN_SET) return this.inSet(code, at, after - 1);
    return item === code;
  }

  /** The place after a single-char item: a char, an escape or a set. */
  private classEnd(at: number): number {
    const { pattern, end } = this;
    const code = pattern.charCodeAt(at);
    if (code === PERCENT) {
      if (at + 1 >= end) throw libraryError("malformed pattern (ends with '%')");
      return at + 2;
    }
    if (code !== OPEN_SET) return at + 1;
    let here = at + 1;
    if (here < end && pattern.charCodeAt(here) === CARET) here += 1;
    // A bracket right after the opening one is a plain char.
    do {
      if (here >= end) throw libraryError("malformed pattern (missing ']')");
      here += pattern.charCodeAt(here) === PERCENT && here + 1 < end ? 2 : 1;
    } while (here >= end || pattern.charCodeAt(here) !== CLOSE_SET);
    return here + 1;
  }

  /** Whether a char is in the set from the bracket at `open` to the one at `close`. */
  private inSet(code: number, open: number, close: number): boolean {
    const { pattern } = this;
    let at = open + 1;
    let result = true;
    if (pattern.charCodeAt(at) === CARET) {
      result = false;
      at += 1;
    }
    for (; at < close; at++) {
      const item = pattern.charCodeAt(at);
      if (item === PERCENT) {
        at += 1;
        if (inClass(code, pattern.charCodeAt(at))) return result;
      } else if (pattern.charCodeAt(at + 1) === MINUS && at + 2 < close) {
        if (item <= code && code <= pattern.charCodeAt(at + 2)) return result;
        at += 2;
      } else if (item === code) return result;
    }
    return !result;
  }
}

const NO_ESCAPE = -2;

/** Whether a char belongs to `%a`, `%d` and so on; a capital letter means the opposite. */
function inClass(code: number, letter: number): boolean {
  const test = CLASSES[String.fromCharCode(letter | 0x20)];
  const isLetter = (letter >= 65 && letter <= 90) || (letter >= 97 && letter <= 122);
  if (!isLetter || test === undefined) return letter === code;
  return letter <= 90 ? !test(code) : test(code);
}

const isDigit = (code: number) => code >= 48 && code <= 57;
const isLower = (code: number) => code >= 97 && code <= 122;
const isUpper = (code: number) => code >= 65 && code <= 90;
const isAlpha = (code: number) => isLower(code) || isUpper(code);
const isAlphanumeric = (code: number) => isAlpha(code) || isDigit(code);

/** C's character classes in the C locale. */
const CLASSES: Readonly<Record<string, (code: number) => boolean>> = {
  a: isAlpha,
  c: (code) => code < 32 || code === 127,
  d: isDigit,
  l: isLower,
  p: (code) => code > 32 && code < 127 && !isAlphanumeric(code),
  s: (code) => code === 32 || (code >= 9 && code <= 13),
  u: isUpper,
  w: isAlphanumeric,
  x: (code) => isDigit(code) || ((code | 0x20) >= 97 && (code | 0x20) <= 102),
  z: (code) => code === 0,
};

/** Whether a pattern can be searched for as plain text. */
export function isPlain(pattern: string): boolean {
  if (pattern.length > MAX_PATTERN) return false;
  const end = pattern.indexOf('\0');
  return !/[\^$*+?.([%-]/.test(end < 0 ? pattern : pattern.slice(0, end));
}
