import type { Random } from '../clock/index.ts';
import { Dictionary } from './dictionary.ts';
import { Footprint, stringBytes } from './footprint.ts';
import type { Journal } from './journal.ts';
import { formatFloat64 } from './number.ts';
import { type Entries, ScoreTree } from './score-tree.ts';

export type { Entries } from './score-tree.ts';

/**
 * A sorted set: a dictionary from members to scores, which also serves scans and random picks, and a tree of the same
 * entries in order.
 *
 * A range is given by two cuts. A cut is a position in the order, given by a score and a string: it is before the
 * first entry that is not less. The empty string cuts before all members of a score, AFTER_ALL after them, and `x`
 * followed by a NUL byte directly after x.
 */
export class SortedSetValue extends Footprint {
  readonly type = 'zset';
  readonly journal: Journal;
  readonly #scores = new Dictionary<number>();
  readonly #order = new ScoreTree();
  #isListpack = true;

  constructor(journal: Journal) {
    super(EMPTY_BYTES);
    this.journal = journal;
  }

  get size(): number {
    return this.#scores.size;
  }

  /** The encoding that Redis would use. It never converts back to listpack. */
  get encoding(): 'listpack' | 'skiplist' {
    return this.#isListpack ? 'listpack' : 'skiplist';
  }

  score(member: string): number | undefined {
    return this.#scores.get(member);
  }

  /** Adds a member or changes its score. As in Redis, a listpack stores -0 as 0, a skiplist keeps it. */
  set(member: string, score: number): void {
    const slot = this.#scores.slotOf(member);
    const previous = slot < 0 ? undefined : this.#scores.valueAt(slot);
    const wasListpack = this.#isListpack;
    if (slot < 0 && !this.#staysSmallWith(member)) this.#isListpack = false;
    this.#write(slot, member, this.#isListpack && score === 0 ? 0 : score);
    if (this.journal.active)
      this.journal.record(() => this.#undoSet(member, previous, wasListpack));
    if (this.journal.changes.isOn) {
      this.journal.changes.add(this, 'ZADD', formatFloat64(score), member);
    }
  }

  /** Converts to the encoding that these members need before they are added, as Redis does with stored results. */
  prepareFor(members: readonly string[]): void {
    const isSmall =
      members.length <= LISTPACK_ENTRIES && members.every(({ length }) => length <= LISTPACK_BYTES);
    if (!isSmall) this.#isListpack = false;
  }

  /** Converts to a skiplist whatever the size. In Redis, SORT does that to the set that it reads. */
  convertToSkiplist(): void {
    const wasListpack = this.#isListpack;
    this.#isListpack = false;
    if (this.journal.active) {
      this.journal.record(() => {
        this.#isListpack = wasListpack;
      });
    }
  }

  /** Removes a member. Returns its score, or undefined. */
  delete(member: string): number | undefined {
    const slot = this.#scores.slotOf(member);
    if (slot < 0) return undefined;
    const score = this.#removeAt(slot);
    if (this.journal.active) {
      this.journal.record(() => this.#undoDelete(slot, member, score), memberBytes(member));
    }
    if (this.journal.changes.isOn) this.journal.changes.add(this, 'ZREM', member);
    return score;
  }

  /** The number of entries before the member; undefined if there is no such member. */
  rank(member: string): number | undefined {
    const score = this.#scores.get(member);
    return score === undefined ? undefined : this.#order.rank(score, member);
  }

  /** The entries from rank `from` to `to`, without `to`. */
  range(from: number, to: number): Entries {
    return this.#order.range(from, Math.min(to, this.size));
  }

  /** The ranks between two cuts by score, without the first `skip` in the direction of the range. */
  scoreSpan({ min, max }: ScoreCuts, skip = 0, isReverse = false): Span {
    const from = this.#order.rank(min.score, min.member);
    const to = this.#order.rank(max.score, max.member);
    return isReverse ? { from, to: to - skip } : { from: from + skip, to };
  }

  /** Like `scoreSpan`, by member. Specified only if all scores are equal. */
  lexSpan({ min, max }: LexCuts, skip = 0, isReverse = false): Span {
    const { size } = this;
    if (size === 0 || min >= max) return NO_SPAN;
    const score = this.#order.scoreAt(0);
    if (score !== this.#order.scoreAt(size - 1)) return this.#walkedSpan(min, max, skip, isReverse);
    return this.scoreSpan(
      { min: { score, member: min }, max: { score, member: max } },
      skip,
      isReverse,
    );
  }

  /** The members, in no order, as a live view. */
  members(): readonly string[] {
    return this.#scores.names();
  }

  /** The scores in the order of `members()`, as a live view. */
  scores(): readonly number[] {
    return this.#scores.values();
  }

  randomSlot(random: Random): number {
    return this.#scores.randomSlot(random);
  }

  /** One step of a scan over the slots of `members()`. */
  scan(cursor: number, count: number, visit: (slot: number) => void): number {
    return this.#scores.scan(cursor, count, visit);
  }

  copy(): SortedSetValue {
    const copy = new SortedSetValue(this.journal);
    const { members, scores } = this.range(0, this.size);
    for (let at = 0; at < members.length; at++) copy.#write(-1, members[at]!, scores[at]!);
    copy.#isListpack = this.#isListpack;
    return copy;
  }

  /**
   * In Redis a range by member is unspecified if scores differ. This returns what a listpack returns: from the first
   * entry inside the range, in the direction of the range, after `skip` entries that are not compared, to the next
   * entry outside the range.
   */
  #walkedSpan(min: string, max: string, skip: number, isReverse: boolean): Span {
    const { members } = this.range(0, this.size);
    const last = members.length - 1;
    if (members[last]! < min || members[0]! >= max) return NO_SPAN;
    let from = 0;
    let to = last + 1;
    if (isReverse) {
      while (to > 0 && members[to - 1]! >= max) to--;
      if (to === 0 || members[to - 1]! < min) return NO_SPAN;
      to -= skip;
      for (from = to; from > 0 && members[from - 1]! >= min; ) from--;
    } else {
      while (from <= last && members[from]! < min) from++;
      if (from > last || members[from]! >= max) return NO_SPAN;
      from += skip;
      for (to = from; to <= last && members[to]! < max; ) to++;
    }
    return { from, to };
  }

  #staysSmallWith(member: string): boolean {
    return this.size < LISTPACK_ENTRIES && member.length <= LISTPACK_BYTES;
  }

  /** Sets the score of the member at `slot`; a negative slot means a new member. */
  #write(slot: number, member: string, score: number): void {
    if (slot < 0) {
      this.#scores.append(member, score);
      this.grow(memberBytes(member));
    } else {
      this.#order.remove(this.#scores.valueAt(slot), member);
      this.#scores.setAt(slot, score);
    }
    this.#order.insert(score, member);
  }

  #removeAt(slot: number): number {
    const member = this.#scores.nameAt(slot);
    const score = this.#scores.removeAt(slot);
    this.#order.remove(score, member);
    this.grow(-memberBytes(member));
    return score;
  }

  #undoSet(member: string, previous: number | undefined, wasListpack: boolean): void {
    this.#isListpack = wasListpack;
    const slot = this.#scores.slotOf(member);
    if (previous === undefined) this.#removeAt(slot);
    else this.#write(slot, member, previous);
  }

  #undoDelete(slot: number, member: string, score: number): void {
    this.#scores.restoreAt(slot, member, score);
    this.#order.insert(score, member);
    this.grow(memberBytes(member));
  }
}

function memberBytes(member: string): number {
  return MEMBER_BYTES + stringBytes(member);
}

const EMPTY_BYTES = 920;
/** The memory of a member in the dictionary and the tree, just after they have grown. */
const MEMBER_BYTES = 136;

/** Ranks from `from` to `to`, without `to`; empty unless from < to. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface ScoreCuts {
  readonly min: ScoreCut;
  readonly max: ScoreCut;
}

export interface ScoreCut {
  readonly score: number;
  readonly member: string;
}

export interface LexCuts {
  readonly min: string;
  readonly max: string;
}

/** Greater than every string of bytes. */
export const AFTER_ALL = '\u0100';

const NO_SPAN: Span = { from: 0, to: 0 };
const LISTPACK_ENTRIES = 128;
const LISTPACK_BYTES = 64;
