/**
 * A B+ tree of members, ordered by score, then by bytes. Access by rank is O(log n).
 *
 * Redis uses a skip list. In JavaScript a skip list takes an object and two arrays per member, and every step of a
 * search follows a pointer. In this tree, leaves hold up to 64 entries in two plain arrays, one of scores (unboxed
 * doubles) and one of members. Branches hold up to 64 children with the number of entries below each. A hundred
 * thousand members make three levels. A search is a few binary searches in short arrays, and an insertion moves
 * some thirty array elements. Measured at that size, all operations take a fifth of the time of a skip list, and a
 * member takes less than thirty bytes instead of two hundred.
 *
 * A branch has a lower bound for each child: entries of child i are not less than bound i, and entries before it
 * are less. Bound 0 is never compared inside of its own branch; it equals the parent's bound for the branch.
 * Removals do not change bounds: a bound need not be an entry.
 *
 * A node that is too wide splits in two. A node that is too narrow is joined with its neighbour, and the result
 * splits again if it is too wide. The last node of a level splits at its end instead of in the middle, so that
 * members that arrive in ascending order, such as timestamps, fill their leaves.
 */
export class ScoreTree {
  #root: Node = new Leaf([], []);

  get size(): number {
    return this.#root.size;
  }

  /** Adds an entry. It must not exist. */
  insert(score: number, member: string): void {
    const sibling = this.#root.insert(score, member, true);
    if (sibling !== undefined) this.#root = branchOf(this.#root, sibling);
  }

  /** Removes an existing entry. */
  remove(score: number, member: string): void {
    const root = this.#root;
    root.remove(score, member);
    if (root instanceof Branch && root.children.length === 1) this.#root = root.children[0]!;
  }

  /** The number of entries before (score, member), which need not exist. */
  rank(score: number, member: string): number {
    return this.#root.rank(score, member);
  }

  scoreAt(rank: number): number {
    return this.#root.scoreAt(rank);
  }

  /** The entries from rank `from` to `to`, without `to`. Both must be valid. */
  range(from: number, to: number): Entries {
    const entries: Entries = { members: [], scores: [] };
    if (from < to) this.#root.collect(from, to, entries);
    return entries;
  }
}

/** Parallel arrays, in ascending order. */
export interface Entries {
  readonly members: string[];
  readonly scores: number[];
}

const WIDEST = 64;
const NARROWEST = WIDEST / 4;

/** Exported, like its two kinds, for the test that counts the nodes that a search visits. */
export interface Node {
  /** The entries of a leaf, or the lower bounds of a branch's children. */
  readonly scores: number[];
  readonly members: string[];
  /** The number of entries in this node and below. */
  readonly size: number;
  /** Returns the right half if the node had to split. `isLast`: the node is the last of its level. */
  insert(score: number, member: string, isLast: boolean): Node | undefined;
  remove(score: number, member: string): void;
  rank(score: number, member: string): number;
  scoreAt(rank: number): number;
  collect(from: number, to: number, into: Entries): void;
  /** Moves everything from position `at` on into a new node. */
  split(at: number): Node;
  /** Appends the content of its right neighbour, which has the same kind. */
  absorb(right: Node): void;
}

export class Leaf implements Node {
  scores: number[];
  members: string[];

  constructor(scores: number[], members: string[]) {
    this.scores = scores;
    this.members = members;
  }

  get size(): number {
    return this.scores.length;
  }

  insert(score: number, member: string, isLast: boolean): Node | undefined {
    const at = this.rank(score, member);
    insertScore(this.scores, at, score);
    insertAt(this.members, at, member);
    const width = this.scores.length;
    if (width <= WIDEST) return undefined;
    return this.split(isLast && at === width - 1 ? at : width >> 1);
  }

  remove(score: number, member: string): void {
    const at = this.rank(score, member);
    removeScore(this.scores, at);
    removeAt(this.members, at);
  }

  rank(score: number, member: string): number {
    return placeFrom(0, this.scores, this.members, score, member, false);
  }

  scoreAt(rank: number): number {
    return this.scores[rank]!;
  }

  collect(from: number, to: number, into: Entries): void {
    const { scores, members } = this;
    for (let at = from; at < to; at++) {
      into.members.push(members[at]!);
      into.scores.push(scores[at]!);
    }
  }

  split(at: number): Leaf {
    const right = new Leaf(this.scores.slice(at), this.members.slice(at));
    this.scores.length = at;
    this.members.length = at;
    return right;
  }

  absorb(right: Leaf): void {
    appendScores(this.scores, right.scores);
    append(this.members, right.members);
  }
}

export class Branch implements Node {
  scores: number[];
  members: string[];
  children: Node[];
  sizes: number[];
  size: number;

  constructor(scores: number[], members: string[], children: Node[], sizes: number[]) {
    this.scores = scores;
    this.members = members;
    this.children = children;
    this.sizes = sizes;
    this.size = sum(sizes, sizes.length);
  }

  insert(score: number, member: string, isLast: boolean): Node | undefined {
    const at = this.#childFor(score, member);
    const isEnd = isLast && at === this.children.length - 1;
    const sibling = this.children[at]!.insert(score, member, isEnd);
    this.size++;
    this.sizes[at]!++;
    if (sibling === undefined) return undefined;
    this.#insertChild(at + 1, sibling);
    const width = this.children.length;
    if (width <= WIDEST) return undefined;
    return this.split(isEnd ? width - NARROWEST : width >> 1);
  }

  remove(score: number, member: string): void {
    const at = this.#childFor(score, member);
    const child = this.children[at]!;
    child.remove(score, member);
    this.size--;
    this.sizes[at]!--;
    if (child.scores.length < NARROWEST && this.children.length > 1) {
      this.#join(at === 0 ? 0 : at - 1);
    }
  }

  rank(score: number, member: string): number {
    const at = this.#childFor(score, member);
    return sum(this.sizes, at) + this.children[at]!.rank(score, member);
  }

  scoreAt(rank: number): number {
    let at = 0;
    let left = rank;
    while (left >= this.sizes[at]!) left -= this.sizes[at++]!;
    return this.children[at]!.scoreAt(left);
  }

  collect(from: number, to: number, into: Entries): void {
    const { children, sizes } = this;
    let begin = 0;
    for (let at = 0; begin < to; at++) {
      const end = begin + sizes[at]!;
      if (from < end) {
        children[at]!.collect(Math.max(from - begin, 0), Math.min(to, end) - begin, into);
      }
      begin = end;
    }
  }

  split(at: number): Branch {
    const right = new Branch(
      this.scores.slice(at),
      this.members.slice(at),
      this.children.slice(at),
      this.sizes.slice(at),
    );
    this.scores.length = at;
    this.members.length = at;
    this.children.length = at;
    this.sizes.length = at;
    this.size -= right.size;
    return right;
  }

  absorb(right: Branch): void {
    appendScores(this.scores, right.scores);
    append(this.members, right.members);
    append(this.children, right.children);
    append(this.sizes, right.sizes);
    this.size += right.size;
  }

  /** Joins the children at `at` and `at + 1`, or balances them if the result would be too wide. */
  #join(at: number): void {
    const left = this.children[at]!;
    left.absorb(this.children[at + 1]!);
    removeScore(this.scores, at + 1);
    removeAt(this.members, at + 1);
    removeAt(this.children, at + 1);
    removeAt(this.sizes, at + 1);
    this.sizes[at] = left.size;
    const width = left.scores.length;
    if (width > WIDEST) this.#insertChild(at + 1, left.split(width >> 1));
  }

  /** Adds the node that the child before `at` has split off. */
  #insertChild(at: number, child: Node): void {
    insertScore(this.scores, at, child.scores[0]!);
    insertAt(this.members, at, child.members[0]!);
    insertAt(this.children, at, child);
    insertAt(this.sizes, at, child.size);
    this.sizes[at - 1] = this.children[at - 1]!.size;
  }

  #childFor(score: number, member: string): number {
    return placeFrom(1, this.scores, this.members, score, member, true) - 1;
  }
}

function branchOf(left: Node, right: Node): Branch {
  return new Branch(
    [left.scores[0]!, right.scores[0]!],
    [left.members[0]!, right.members[0]!],
    [left, right],
    [left.size, right.size],
  );
}

/**
 * The first index at or after `begin` whose entry is not less than (score, member); with `orEqual`, the first whose
 * entry is greater.
 */
function placeFrom(
  begin: number,
  scores: readonly number[],
  members: readonly string[],
  score: number,
  member: string,
  orEqual: boolean,
): number {
  let low = begin;
  let high = scores.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const other = scores[middle]!;
    const isBefore =
      other < score ||
      (other === score && (orEqual ? !(member < members[middle]!) : members[middle]! < member));
    if (isBefore) low = middle + 1;
    else high = middle;
  }
  return low;
}

// For arrays this short, a loop is several times faster than splice, which also allocates an array.
//
// Scores have functions of their own: V8 stores doubles in an array unboxed until code that has also seen arrays
// of objects stores into it. From then on each score is a heap object of sixteen bytes.

function insertScore(scores: number[], at: number, score: number): void {
  scores.push(score);
  for (let place = scores.length - 1; place > at; place--) scores[place] = scores[place - 1]!;
  scores[at] = score;
}

function removeScore(scores: number[], at: number): void {
  for (let place = at + 1; place < scores.length; place++) scores[place - 1] = scores[place]!;
  scores.pop();
}

function appendScores(scores: number[], more: readonly number[]): void {
  for (let at = 0; at < more.length; at++) scores.push(more[at]!);
}

function insertAt<Item>(items: Item[], at: number, item: Item): void {
  items.push(item);
  for (let place = items.length - 1; place > at; place--) items[place] = items[place - 1]!;
  items[at] = item;
}

function removeAt<Item>(items: Item[], at: number): void {
  for (let place = at + 1; place < items.length; place++) items[place - 1] = items[place]!;
  items.pop();
}

function append<Item>(items: Item[], more: readonly Item[]): void {
  for (let at = 0; at < more.length; at++) items.push(more[at]!);
}

function sum(numbers: readonly number[], count: number): number {
  let total = 0;
  for (let at = 0; at < count; at++) total += numbers[at]!;
  return total;
}
