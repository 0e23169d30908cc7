import { editDistance } from '../edit-distance.ts';
import { LabError } from './lab-error.ts';

/** Finds a thing by its name. Throws a LabError that suggests the name with the smallest edit distance. */
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
