/** What can stand in one list at a time. */
export interface Linked<Node> {
  before?: Node | undefined;
  after?: Node | undefined;
}

/**
 * Things in the order of their arrival, each of which knows its place, so that it can be taken out in
 * O(1). A Set can do that too, but one that many things pass through, few at a time, is outgrown again
 * and again, and V8 keeps what an outgrown table held until the next full collection: as garbage that
 * survives, it cost more than all the rest of taking a lock.
 */
export class LinkedList<Node extends Linked<Node>> {
  first: Node | undefined = undefined;
  last: Node | undefined = undefined;

  /** After the one given, or in front of all. */
  insert(node: Node, before: Node | undefined): void {
    const after = before === undefined ? this.first : before.after;
    node.before = before;
    node.after = after;
    if (before === undefined) this.first = node;
    else before.after = node;
    if (after === undefined) this.last = node;
    else after.before = node;
  }

  push(node: Node): void {
    this.insert(node, this.last);
  }

  /** The node must be in this list. It forgets its neighbours, so that none keeps the other in memory. */
  remove(node: Node): void {
    const { before, after } = node;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.last = before;
    else after.before = before;
    node.before = undefined;
    node.after = undefined;
  }

  toArray(): Node[] {
    const nodes: Node[] = [];
    for (let node = this.first; node !== undefined; node = node.after) nodes.push(node);
    return nodes;
  }
}
