import { ErrorReply } from '../resp/index.ts';
import { MAX_TOKEN_BYTES } from './text.ts';

/** The remaining matching steps of a command. Below zero: the budget was exceeded. */
export interface MatchBudget {
  steps: number;
}

/**
 * Returns the filter of a command that matches many texts with one pattern.
 *
 * @throws ErrorReply for a pattern of more than MAX_TOKEN_BYTES. The filter throws one when the matching takes too
 * long.
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
  if (pattern.length > MAX_TOKEN_BYTES) throw TOO_LONG;
}

/**
 * Redis's glob patterns: `*`, `?`, `[a-z]`, `[^x]` and backslash.
 *
 * The usual recursive matcher takes exponential time on patterns such as `*a*a*a*b` and was the cause of two CVEs.
 * Here a mismatch retries the last star only, since it can match whatever an earlier star could. One remembered
 * position is enough, and the time is O(text × pattern).
 *
 * A step compares one byte of the pattern with one byte of the text. The first FREE_STEPS of each text are free,
 * the others count against the budget. When the budget is used up, the text does not match.
 */
export function matchesGlob(
  pattern: string,
  text: string,
  budget: MatchBudget = { steps: SINGLE_MATCH_STEPS },
): boolean {
  // In Redis no pattern matches an empty text, not even `*`. KEYS and SCAN treat a single star as no pattern.
  if (text === '') return pattern === '';
  if (pattern === '*') return true;
  const limit = FREE_STEPS + Math.max(0, budget.steps);
  let steps = 0;
  let at = 0;
  let place = 0;
  /** The pattern element after the last star, and the position in the text where it was last tried. */
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

/** The first position from `at` on where a literal element can match. indexOf is far faster than steps. */
function firstCandidate(pattern: string, place: number, text: string, at: number): number {
  const code = pattern.charCodeAt(place);
  const isLiteral = code !== STAR && code !== QUESTION && code !== BRACKET && code !== BACKSLASH;
  return isLiteral ? text.indexOf(pattern.charAt(place), at) : at;
}

/** Matches one byte with the element at `place`. Returns the start of the next element; negative on a mismatch. */
function matchOne(pattern: string, place: number, code: number): number {
  const element = pattern.charCodeAt(place);
  if (element === QUESTION) return place + 1;
  if (element === BRACKET) return matchClass(pattern, place + 1, code);
  const literal = element === BACKSLASH && place + 1 < pattern.length ? place + 1 : place;
  return pattern.charCodeAt(literal) === code ? literal + 1 : -(literal + 1);
}

/**
 * An unclosed class ends with the pattern, as in Redis. The bounds of a range are unsigned bytes; in Redis that
 * depends on the processor.
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

/** Enough for a pattern of MAX_TOKEN_BYTES without a retry, so that simple patterns never use the budget. */
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

const TOO_LONG = new ErrorReply(`ERR pattern is too long (${MAX_TOKEN_BYTES} bytes at most)`);
const TOO_MANY_STEPS = new ErrorReply(
  'ERR pattern takes too long to match, use a simpler one or SCAN',
);
