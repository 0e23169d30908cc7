import type { PageClient, PageLock } from '../../src/page/protocol.ts';

/** Tasks and locks. An edge leads from a task to the lock it waits for, and from a lock to the task that holds it. */
export interface WaitGraph {
  readonly nodes: readonly WaitNode[];
  readonly edges: readonly WaitEdge[];
  /** Each is a deadlock: the indexes of its nodes in order, beginning with a task. */
  readonly cycles: readonly (readonly number[])[];
  /** How many nodes were left out, as there are more than `MAX_NODES`. */
  readonly left: number;
}

export type WaitNode =
  | { readonly type: 'task'; readonly client: PageClient | null; readonly owner: string }
  | { readonly type: 'lock'; readonly lock: PageLock; readonly otherWaiters: number };

export interface WaitEdge {
  readonly from: number;
  readonly to: number;
  readonly type: 'waits' | 'held';
  readonly isInCycle: boolean;
}

const MAX_NODES = 300;

/**
 * The graph of waits inside of callbacks. The leases that a callback holds and the request that it makes have owners of
 * their own; they are one task here. Waiters that hold nothing cannot be part of a deadlock: their lock counts them.
 */
export function waitGraph(locks: Iterable<PageLock>): WaitGraph {
  const all = [...locks];
  const tasks = tasksOf(all);
  if (tasks.size === 0) return { nodes: [], edges: [], cycles: [], left: 0 };
  const builder = new GraphBuilder();
  for (const lock of all) addLock(builder, lock, tasks);
  const cycles = cyclesOf(builder.nodes.length, builder.edges).map((cycle) =>
    beginWithTask(cycle, builder.nodes),
  );
  return marked(builder, cycles);
}

/** By each owner of a task, the owner that names the task. Only tasks that wait while they hold. */
function tasksOf(locks: readonly PageLock[]): Map<string, string> {
  const parents = new Map<string, string>();
  const root = (owner: string): string => {
    let at = owner;
    while (parents.get(at) !== undefined && parents.get(at) !== at) at = parents.get(at)!;
    return at;
  };
  for (const { waiters } of locks) {
    for (const { owner, holds } of waiters) {
      for (const held of holds) {
        if (!parents.has(owner)) parents.set(owner, owner);
        if (!parents.has(held)) parents.set(held, held);
        parents.set(root(held), root(owner));
      }
    }
  }
  return new Map([...parents.keys()].map((owner) => [owner, root(owner)]));
}

class GraphBuilder {
  readonly nodes: WaitNode[] = [];
  readonly edges: { from: number; to: number; type: 'waits' | 'held' }[] = [];
  readonly #indexes = new Map<string, number>();

  node(key: string, make: () => WaitNode): number {
    let index = this.#indexes.get(key);
    if (index === undefined) {
      index = this.nodes.push(make()) - 1;
      this.#indexes.set(key, index);
    }
    return index;
  }
}

/** A lock is part of the graph if a task waits for it. Then its holders are, too, also those that wait for nothing. */
function addLock(builder: GraphBuilder, lock: PageLock, tasks: Map<string, string>): void {
  const nested = lock.waiters.filter(({ owner }) => tasks.has(owner));
  const isHeldByTask = lock.holders.some(({ owner }) => tasks.has(owner));
  if (nested.length === 0 && !isHeldByTask) return;
  const at = builder.node(`lock ${lock.id}`, () => ({
    type: 'lock',
    lock,
    otherWaiters: lock.waiterCount - nested.length,
  }));
  for (const { owner, client } of nested) {
    const from = builder.node(`task ${tasks.get(owner)}`, () => ({ type: 'task', client, owner }));
    builder.edges.push({ from, to: at, type: 'waits' });
  }
  for (const { owner, client } of lock.holders) {
    const task = tasks.get(owner) ?? owner;
    const to = builder.node(`task ${task}`, () => ({ type: 'task', client, owner }));
    builder.edges.push({ from: at, to, type: 'held' });
  }
}

/** Marks the edges of cycles. Of a graph that is too large, nodes in cycles and the nodes beside them stay. */
function marked(builder: GraphBuilder, cycles: readonly (readonly number[])[]): WaitGraph {
  const inCycles = new Set(
    cycles.flatMap((cycle) =>
      cycle.map((node, index) => `${node} ${cycle[(index + 1) % cycle.length]}`),
    ),
  );
  const order = [...new Set([...cycles.flat(), ...builder.nodes.keys()])];
  const kept = new Map(order.slice(0, MAX_NODES).map((node, index) => [node, index]));
  return {
    nodes: [...kept.keys()].map((node) => builder.nodes[node]!),
    edges: builder.edges
      .filter(({ from, to }) => kept.has(from) && kept.has(to))
      .map(({ from, to, type }) => ({
        from: kept.get(from)!,
        to: kept.get(to)!,
        type,
        isInCycle: inCycles.has(`${from} ${to}`),
      })),
    cycles: cycles
      .filter((cycle) => cycle.every((node) => kept.has(node)))
      .map((cycle) => cycle.map((node) => kept.get(node)!)),
    left: builder.nodes.length - kept.size,
  };
}

function beginWithTask(cycle: readonly number[], nodes: readonly WaitNode[]): number[] {
  const at = cycle.findIndex((node) => nodes[node]!.type === 'task');
  return [...cycle.slice(at), ...cycle.slice(0, at)];
}

/** One shortest cycle through the first node of each strongly connected component that has one. */
export function cyclesOf(
  count: number,
  edges: readonly { readonly from: number; readonly to: number }[],
): number[][] {
  const targets: number[][] = Array.from({ length: count }, () => []);
  for (const { from, to } of edges) targets[from]!.push(to);
  const components = componentsOf(targets);
  const seen = new Set<number>();
  const cycles: number[][] = [];
  for (let node = 0; node < count; node++) {
    if (seen.has(components[node]!)) continue;
    const cycle = shortestCycle(node, targets, components);
    if (cycle === undefined) continue;
    seen.add(components[node]!);
    cycles.push(cycle);
  }
  return cycles;
}

function shortestCycle(
  start: number,
  targets: readonly number[][],
  components: readonly number[],
): number[] | undefined {
  const before = new Map<number, number>();
  const queue = [start];
  for (const node of queue) {
    for (const target of targets[node]!) {
      if (components[target] !== components[start]) continue;
      if (target === start) return pathTo(node, before);
      if (before.has(target)) continue;
      before.set(target, node);
      queue.push(target);
    }
  }
  return undefined;
}

function pathTo(node: number, before: ReadonlyMap<number, number>): number[] {
  const path = [node];
  for (let at = before.get(node); at !== undefined; at = before.get(at)) path.unshift(at);
  return path;
}

/** Tarjan's algorithm with a stack of its own: a chain of thousands of waits must not end in a stack overflow. */
function componentsOf(targets: readonly number[][]): number[] {
  const count = targets.length;
  const order = new Array<number>(count).fill(-1);
  const low = new Array<number>(count).fill(0);
  const component = new Array<number>(count).fill(-1);
  const open: number[] = [];
  let next = 0;
  for (let start = 0; start < count; start++) {
    if (order[start] !== -1) continue;
    const calls = [{ node: start, edge: 0 }];
    while (calls.length > 0) {
      const call = calls.at(-1)!;
      const { node } = call;
      if (call.edge === 0) {
        order[node] = low[node] = next++;
        open.push(node);
      }
      const target = targets[node]![call.edge++];
      if (target !== undefined) {
        if (order[target] === -1) calls.push({ node: target, edge: 0 });
        else if (component[target] === -1) low[node] = Math.min(low[node]!, order[target]!);
        continue;
      }
      calls.pop();
      if (low[node] === order[node]) {
        let member: number;
        do {
          member = open.pop()!;
          component[member] = node;
        } while (member !== node);
      }
      const caller = calls.at(-1);
      if (caller !== undefined) low[caller.node] = Math.min(low[caller.node]!, low[node]!);
    }
  }
  return component;
}
