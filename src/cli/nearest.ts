import { editDistance } from '../edit-distance.ts';

/** The known word with the smallest edit distance; undefined if that is large. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const distances = words.map((each) => (each.startsWith(word) ? 1 : editDistance(word, each)));
  const least = Math.min(...distances);
  if (least > Math.max(2, Math.floor(word.length / 2))) return undefined;
  return words[distances.indexOf(least)];
}
