import { editDistance } from '../../edit-distance.ts';
import { LabError } from '../lab-error.ts';
import type { Place } from './tree.ts';

/** An error of a recipe's text: which file, where in it, and what to write instead. */
export function textFault(file: string, { line, column }: Place, message: string): LabError {
  return new LabError(`line ${line}, column ${column} of ${file}: ${message}`);
}

/** `; did you mean "until"?`, if one of the words looks like what was written. */
export function meant(written: string, words: readonly string[]): string {
  const found = words.find((word) => isSlip(written, word));
  return found === undefined ? '' : `; did you mean "${found}"?`;
}

/** One letter too many, too few or changed, or two that changed places; two such in a long word. */
export function isSlip(written: string, word: string): boolean {
  if (written === word || word.length < 3 || Math.abs(written.length - word.length) > 2)
    return false;
  const distance = editDistance(written.toLowerCase(), word.toLowerCase());
  const isSwap = distance === 2 && sorted(written) === sorted(word);
  return distance <= 1 || isSwap || (distance === 2 && word.length >= 6);
}

function sorted(word: string): string {
  return [...word.toLowerCase()].sort().join('');
}
