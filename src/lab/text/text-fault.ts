import { editDistance } from '../../edit-distance.ts';
import { LabError } from '../lab-error.ts';
import type { Place } from './tree.ts';

/** An error in a recipe's text, with its file, line and column. */
export function textFault(file: string, { line, column }: Place, message: string): LabError {
  return new LabError(`line ${line}, column ${column} of ${file}: ${message}`);
}

/** `; did you mean "until"?` if the written word is a likely misspelling of one of the words. */
export function meant(written: string, words: readonly string[]): string {
  const found = words.find((word) => isSlip(written, word));
  return found === undefined ? '' : `; did you mean "${found}"?`;
}

/** True for one letter added, missing, changed or swapped, or two such errors in a word of six letters or more. */
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
