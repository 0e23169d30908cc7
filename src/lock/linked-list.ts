/** A node of a linked list. It is in one list at a time. */
export interface Linked<Node> {
  before?: Node | undefined;
  after?: Node | undefined;
}

/**
 * A doubly linked list whose items are its nodes, so that each can be removed in O(1).
 *
 * A Set has the same complexity, but V8 rehashes it again and again when many items pass through it, and keeps the old
 * tables until the next full collection. That cost more than the rest of an acquisition in memory.
 */
export class LinkedList<Node extends Linked<Node>> {
  first: Node | undefined = undefined;
  last: Node | undefined = undefined;

  /** Inserts after `before`, or as the first if it is undefined. */
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

  /** The node must be in this list. Clears its links, so that removed nodes do not keep others in memory. */
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
