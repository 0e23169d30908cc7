import { LabError } from '../lab-error.ts';

/**
 * An acyclic graph. The edges of node n are `targets` from `firstTargets[n]` up to `firstTargets[n + 1]`.
 * Nodes from `known` on were not expanded, so their edges are unknown: paths that end there are not counted.
 */
export interface Graph {
  readonly firstTargets: readonly number[];
  readonly targets: readonly number[];
  readonly known: number;
}

/** Whether paths may take an edge. */
export type IsOpen = (edge: number) => boolean;

const ALL_OPEN: IsOpen = () => true;

/**
 * The number of paths over open edges from node 0 to a node without edges. A bigint, since the number soon
 * exceeds the precision of a double.
 */
export function countPaths(graph: Graph, isOpen = ALL_OPEN): bigint {
  const paths = new Array<bigint>(graph.firstTargets.length - 1).fill(0n);
  paths[0] = 1n;
  let total = 0n;
  visitInOrder(graph, (node, first, end) => {
    const count = paths[node]!;
    paths[node] = 0n;
    if (first === end && node < graph.known) total += count;
    for (let edge = first; edge < end; edge++) {
      if (isOpen(edge)) paths[graph.targets[edge]!]! += count;
    }
  });
  return total;
}

/** The probability that a random walk from node 0 takes open edges only. All edges of a node are equally likely. */
export function probabilityOfPaths(graph: Graph, isOpen: IsOpen): number {
  const chances = new Float64Array(graph.firstTargets.length - 1);
  chances[0] = 1;
  let total = 0;
  visitInOrder(graph, (node, first, end) => {
    if (first === end) total += chances[node]!;
    for (let edge = first; edge < end; edge++) {
      if (isOpen(edge)) chances[graph.targets[edge]!]! += chances[node]! / (end - first);
    }
  });
  return total;
}

/** Visits each node after all nodes that have an edge to it (Kahn). */
function visitInOrder(
  { firstTargets, targets }: Graph,
  visit: (node: number, firstEdge: number, endEdge: number) => void,
): void {
  const nodes = firstTargets.length - 1;
  const waiting = new Uint32Array(nodes);
  for (const target of targets) waiting[target]!++;
  let visited = 0;
  for (const ready = [0]; ready.length > 0; visited++) {
    const node = ready.pop()!;
    const [first, end] = [firstTargets[node]!, firstTargets[node + 1]!];
    visit(node, first, end);
    for (let edge = first; edge < end; edge++) {
      if (--waiting[targets[edge]!]! === 0) ready.push(targets[edge]!);
    }
  }
  if (visited !== nodes)
    throw new LabError('the states form a cycle: a choice leads back to an earlier state');
}
