/** Where a node is: its layer from left to right, and its place in the layer from top to bottom. */
export interface Place {
  readonly layer: number;
  readonly row: number;
}

interface Edge {
  readonly from: number;
  readonly to: number;
}

/** How often nodes are ordered by their neighbours. More changes little. */
const SWEEPS = 6;

/**
 * Places the nodes of a directed graph in layers. Edges lead to a later layer, except for those that close a cycle.
 * Inside a layer, nodes are ordered by the mean place of their neighbours, so that few edges cross. Rows may be
 * fractions: layers are centred.
 */
export function placesOf(count: number, edges: readonly Edge[]): Place[] {
  const forward = withoutBackEdges(count, edges);
  const layers = layersOf(count, forward);
  const order = orderOf(layers, edges);
  const tallest = Math.max(0, ...order.map((layer) => layer.length));
  const places = new Array<Place>(count);
  order.forEach((nodes, layer) => {
    nodes.forEach((node, index) => {
      places[node] = { layer, row: index + (tallest - nodes.length) / 2 };
    });
  });
  return places;
}

/** Drops the edges that close a cycle: a walk in depth finds them. */
function withoutBackEdges(count: number, edges: readonly Edge[]): Edge[] {
  const out = adjacency(count, edges, ({ from }) => from);
  const state = new Uint8Array(count);
  const kept: Edge[] = [];
  for (let start = 0; start < count; start++) {
    if (state[start] !== 0) continue;
    const calls = [{ node: start, next: 0 }];
    state[start] = 1;
    while (calls.length > 0) {
      const call = calls.at(-1)!;
      const edge = out[call.node]![call.next++];
      if (edge === undefined) {
        state[call.node] = 2;
        calls.pop();
        continue;
      }
      if (state[edge.to] === 1) continue;
      kept.push(edge);
      if (state[edge.to] === 0) {
        state[edge.to] = 1;
        calls.push({ node: edge.to, next: 0 });
      }
    }
  }
  return kept;
}

/** The length of the longest path to each node. The edges have no cycle. */
function layersOf(count: number, edges: readonly Edge[]): number[][] {
  const out = adjacency(count, edges, ({ from }) => from);
  const missing = new Array<number>(count).fill(0);
  for (const { to } of edges) missing[to]!++;
  const layer = new Array<number>(count).fill(0);
  const ready = [...missing.keys()].filter((node) => missing[node] === 0);
  for (const node of ready) {
    for (const { to } of out[node]!) {
      layer[to] = Math.max(layer[to]!, layer[node]! + 1);
      missing[to]!--;
      if (missing[to] === 0) ready.push(to);
    }
  }
  const layers: number[][] = [];
  for (const [node, at] of layer.entries()) {
    while (layers.length <= at) layers.push([]);
    layers[at]!.push(node);
  }
  return layers;
}

function orderOf(layers: readonly number[][], edges: readonly Edge[]): number[][] {
  const neighbours = new Map<number, number[]>();
  for (const { from, to } of edges) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  const order = layers.map((layer) => [...layer]);
  const row = new Map<number, number>();
  const note = (layer: readonly number[]) => {
    for (const [index, node] of layer.entries()) row.set(node, index - layer.length / 2);
  };
  for (const layer of order) note(layer);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const layer of sweep % 2 === 0 ? order : order.toReversed()) {
      const mean = new Map(layer.map((node) => [node, meanOf(neighbours.get(node) ?? [], row)]));
      layer.sort((a, b) => (mean.get(a) ?? row.get(a)!) - (mean.get(b) ?? row.get(b)!));
      note(layer);
    }
  }
  return order;
}

function meanOf(nodes: readonly number[], row: ReadonlyMap<number, number>): number | undefined {
  if (nodes.length === 0) return undefined;
  return nodes.reduce((sum, node) => sum + row.get(node)!, 0) / nodes.length;
}

function adjacency(count: number, edges: readonly Edge[], key: (edge: Edge) => number): Edge[][] {
  const lists: Edge[][] = Array.from({ length: count }, () => []);
  for (const edge of edges) lists[key(edge)]!.push(edge);
  return lists;
}
