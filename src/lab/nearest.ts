import { LabError } from './lab-error.ts';

/** The thing of that name, or an error that names the one that was probably meant. */
export function named<Thing extends { readonly name: string }>(
  kind: string,
  name: string,
  things: readonly Thing[],
): Thing {
  const found = things.find((thing) => thing.name === name);
  if (found !== undefined) return found;
  const names = things.map((thing) => thing.name);
  throw new LabError(
    `unknown ${kind} "${name}": did you mean "${nearest(name, names)}"? There are ${names.join(', ')}`,
  );
}

function nearest(name: string, names: readonly string[]): string {
  const distances = names.map((each) => editDistance(name, each));
  return names[distances.indexOf(Math.min(...distances))]!;
}

/** How many letters must be added, dropped or changed to get from one word to the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let line = 1; line <= from.length; line++) {
    const next = [line];
    for (let column = 1; column <= to.length; column++) {
      const change = row[column - 1]! + (from[line - 1] === to[column - 1] ? 0 : 1);
      next.push(Math.min(change, row[column]! + 1, next[column - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
