/** The word that was probably meant: the one that takes the fewest letters to change, if that is few. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const distances = words.map((each) => (each.startsWith(word) ? 1 : editDistance(word, each)));
  const least = Math.min(...distances);
  if (least > Math.max(2, Math.floor(word.length / 2))) return undefined;
  return words[distances.indexOf(least)];
}

/** How many letters must be added, dropped or changed to get from one word to the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [line, letter] of [...from].entries()) {
    const next = [line + 1];
    for (let column = 1; column <= to.length; column++) {
      const change = row[column - 1]! + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(change, row[column]! + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
