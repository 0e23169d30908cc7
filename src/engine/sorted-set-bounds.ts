import { ErrorReply } from '../resp/index.ts';
import { parseFloat64, strtod, withoutLeadingSpaces } from './number.ts';
import { AFTER_ALL, type LexCuts, type ScoreCut, type ScoreCuts } from './sorted-set-value.ts';

/** Parses the two bounds of a range by score: `1.5` inclusive, `(1.5` exclusive, `-inf`. */
export function scoreCuts(min: string, max: string): ScoreCuts {
  return { min: scoreCut(min, false), max: scoreCut(max, true) };
}

/** Parses the two bounds of a range by member: `[a` inclusive, `(a` exclusive, `-`, `+`. */
export function lexCuts(min: string, max: string): LexCuts {
  return { min: lexCut(min, false), max: lexCut(max, true) };
}

/** A cut (see SortedSetValue): after the score for max `1` and min `(1`, before it for max `(1` and min `1`. */
function scoreCut(text: string, isUpper: boolean): ScoreCut {
  const isExclusive = text.startsWith('(');
  const score = boundScore(isExclusive ? text.slice(1) : text);
  return { score, member: isUpper === isExclusive ? '' : AFTER_ALL };
}

/** The same for a member: `member\0` is directly after the member. */
function lexCut(text: string, isUpper: boolean): string {
  if (text === '-') return '';
  if (text === '+') return AFTER_ALL;
  const isExclusive = text.startsWith('(');
  if (!isExclusive && !text.startsWith('[')) throw NOT_A_MEMBER;
  const member = text.slice(1);
  return isUpper === isExclusive ? member : `${member}\0`;
}

/**
 * Redis passes bounds to strtod without the checks of a score in ZADD. So an empty text is zero, leading spaces are
 * skipped, a NUL byte ends the text, and a number that is too large is infinite.
 */
function boundScore(text: string): number {
  const end = text.indexOf('\0');
  const written = end < 0 ? text : text.slice(0, end);
  if (written === '') return 0;
  const number = withoutLeadingSpaces(written);
  const score = parseFloat64(number) ?? strtod(number);
  if (score === undefined) throw NOT_A_BOUND;
  return score;
}

const NOT_A_BOUND = new ErrorReply('ERR min or max is not a float');
const NOT_A_MEMBER = new ErrorReply('ERR min or max not valid string range item');
