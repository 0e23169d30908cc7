import { LabError } from '../lab-error.ts';

/**
 * A graph without circles. The edges of node n are `targets` from `firstTargets[n]` up to `firstTargets[n + 1]`.
 * Nodes from `known` on were not looked at: whether there is a way on is not known, and paths to them do not count.
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
 * How many paths lead from node 0 over open edges to a node without a way on. The numbers outgrow a double soon,
 * so they are kept as whole numbers of any size.
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

/** The chance that a walk from node 0 takes open edges only, if it takes each edge of a node equally often. */
export function chanceOfPaths(graph: Graph, isOpen: IsOpen): number {
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
  if (visited !== nodes) throw new LabError('the world can come back to where it was');
}
