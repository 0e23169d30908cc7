import { LabError } from '../lab-error.ts';

/**
 * How many paths lead from node 0 to a node without a way on, in a graph without circles. The edges of
 * node n are `targets` from `firstTargets[n]` up to `firstTargets[n + 1]`. Nodes from `known` on were not
 * looked at: nobody knows whether there is a way on, and paths to them do not count.
 *
 * A node's number of paths is complete when all edges to it have been followed, so nodes are taken in
 * that order (Kahn). The numbers outgrow a double soon, so they are kept as whole numbers of any size.
 */
export function countPaths(
  firstTargets: readonly number[],
  targets: readonly number[],
  known: number,
): bigint {
  const nodes = firstTargets.length - 1;
  const waiting = new Uint32Array(nodes);
  for (const target of targets) waiting[target]!++;
  const paths = new Array<bigint>(nodes).fill(0n);
  paths[0] = 1n;
  let total = 0n;
  let taken = 0;
  for (const ready = [0]; ready.length > 0; taken++) {
    const node = ready.pop()!;
    const [first, end] = [firstTargets[node]!, firstTargets[node + 1]!];
    if (first === end && node < known) total += paths[node]!;
    for (let at = first; at < end; at++) {
      const target = targets[at]!;
      paths[target]! += paths[node]!;
      if (--waiting[target]! === 0) ready.push(target);
    }
    paths[node] = 0n;
  }
  if (taken !== nodes) throw new LabError('the world can come back to where it was');
  return total;
}
