import { ErrorReply } from '../resp/index.ts';
import { MAX_WORD_BYTES } from './text.ts';

/** What is left of the steps that a command may spend on matching. Below zero: they did not suffice. */
export interface MatchBudget {
  steps: number;
}

/**
 * The test of one command that matches many texts with its pattern.
 *
 * @throws ErrorReply for a pattern of more than MAX_WORD_BYTES; the test throws one when the matching takes
 * too long.
 */
export function globFilter(pattern: string): (text: string) => boolean {
  assertPattern(pattern);
  const budget: MatchBudget = { steps: COMMAND_STEPS };
  return (text) => {
    const matches = matchesGlob(pattern, text, budget);
    if (budget.steps < 0) throw TOO_MANY_STEPS;
    return matches;
  };
}

/** @throws ErrorReply for a pattern that is too long. */
export function assertPattern(pattern: string): void {
  if (pattern.length > MAX_WORD_BYTES) throw TOO_LONG;
}

/**
 * Redis's glob patterns: `*`, `?`, `[a-z]`, `[^x]` and backslash.
 *
 * The usual recursive matcher takes exponential time on patterns such as `*a*a*a*b` and was the cause
 * of two CVEs. On a mismatch only the latest star needs another try, since whatever an earlier star
 * could swallow the latest can too; so one remembered place is enough, and the time is O(text × pattern).
 *
 * A step is one byte of the pattern that is compared with one byte of the text. The first FREE_STEPS of
 * each text are free, the others count against the budget; when it is used up, the text does not match.
 */
export function matchesGlob(
  pattern: string,
  text: string,
  budget: MatchBudget = { steps: SINGLE_MATCH_STEPS },
): boolean {
  // Redis's matcher does not begin on an empty text, so that not even `*` matches it. KEYS and SCAN
  // take a single star for no pattern at all.
  if (text === '') return pattern === '';
  if (pattern === '*') return true;
  const limit = FREE_STEPS + Math.max(0, budget.steps);
  let steps = 0;
  let at = 0;
  let place = 0;
  /** The element behind the latest star, and where in the text it was last tried. */
  let retryPlace = -1;
  let retryAt = 0;
  let isMatch = true;
  while (at < text.length) {
    if (pattern.charCodeAt(place) === STAR) {
      if (++place === pattern.length) break;
      retryPlace = place;
      retryAt = at;
      steps++;
      continue;
    }
    const next = place < pattern.length ? matchOne(pattern, place, text.charCodeAt(at)) : -place;
    steps += Math.abs(next) - place + 1;
    if (next > 0) {
      place = next;
      at++;
    } else {
      retryAt = retryPlace < 0 ? -1 : firstCandidate(pattern, retryPlace, text, retryAt + 1);
      isMatch = retryAt >= 0 && steps <= limit;
      if (!isMatch) break;
      place = retryPlace;
      at = retryAt;
    }
  }
  if (steps > FREE_STEPS) budget.steps = steps > limit ? -1 : budget.steps - (steps - FREE_STEPS);
  while (pattern.charCodeAt(place) === STAR) place++;
  return isMatch && place >= pattern.length;
}

/** The first place from `at` on where a literal element can match: the search costs far less than steps. */
function firstCandidate(pattern: string, place: number, text: string, at: number): number {
  const code = pattern.charCodeAt(place);
  const isLiteral = code !== STAR && code !== QUESTION && code !== BRACKET && code !== BACKSLASH;
  return isLiteral ? text.indexOf(pattern.charAt(place), at) : at;
}

/** Matches one byte against the element at `place`; where the next element starts, negative on a mismatch. */
function matchOne(pattern: string, place: number, code: number): number {
  const element = pattern.charCodeAt(place);
  if (element === QUESTION) return place + 1;
  if (element === BRACKET) return matchClass(pattern, place + 1, code);
  const literal = element === BACKSLASH && place + 1 < pattern.length ? place + 1 : place;
  return pattern.charCodeAt(literal) === code ? literal + 1 : -(literal + 1);
}

/**
 * An unfinished class ends with the pattern, as in Redis. The ends of a range are bytes without a sign;
 * in Redis that depends on the processor.
 */
function matchClass(pattern: string, begin: number, code: number): number {
  let place = begin;
  const isNegated = pattern.charCodeAt(place) === CARET;
  if (isNegated) place++;
  let isFound = false;
  for (; place < pattern.length && pattern.charCodeAt(place) !== CLOSING_BRACKET; place++) {
    const first = pattern.charCodeAt(place);
    if (first === BACKSLASH && place + 1 < pattern.length) {
      place++;
      isFound ||= pattern.charCodeAt(place) === code;
    } else if (pattern.charCodeAt(place + 1) === DASH && place + 2 < pattern.length) {
      const last = pattern.charCodeAt(place + 2);
      isFound ||= code >= Math.min(first, last) && code <= Math.max(first, last);
      place += 2;
    } else {
      isFound ||= first === code;
    }
  }
  return isFound === isNegated ? -(place + 1) : place + 1;
}

/** A pattern of MAX_WORD_BYTES without a second try, so that simple patterns never use the budget. */
const FREE_STEPS = 1024;
/** About a third of a second. */
const COMMAND_STEPS = 2 ** 26;
/** Enough for every pattern and a text of 1024 bytes. */
const SINGLE_MATCH_STEPS = 2 ** 20;

const STAR = 0x2a;
const QUESTION = 0x3f;
const BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const CARET = 0x5e;
const DASH = 0x2d;

const TOO_LONG = new ErrorReply(`ERR pattern is too long (${MAX_WORD_BYTES} bytes at most)`);
const TOO_MANY_STEPS = new ErrorReply(
  'ERR pattern takes too long to match, use a simpler one or SCAN',
);
