import type { Random } from '../clock/index.ts';
import { Dictionary } from './dictionary.ts';
import { Footprint, stringBytes } from './footprint.ts';
import type { Journal } from './journal.ts';
import { parseInteger } from './number.ts';

/** Members without order. Every change leaves its inverse in the journal while that is open. */
export class SetValue extends Footprint {
  readonly type = 'set';
  readonly journal: Journal;
  #entries = new Dictionary<true>();
  /** Redis would have turned its array of integers into a table; it never goes back. */
  #isTable = false;

  constructor(journal: Journal) {
    super(EMPTY_BYTES);
    this.journal = journal;
  }

  get size(): number {
    return this.#entries.size;
  }

  get encoding(): 'intset' | 'hashtable' {
    return this.#isTable ? 'hashtable' : 'intset';
  }

  has(member: string): boolean {
    return this.#entries.has(member);
  }

  /** True if the member is new. */
  add(member: string): boolean {
    if (this.#entries.set(member, true)) return false;
    this.grow(memberBytes(member));
    if (this.journal.active) {
      this.journal.record(() => {
        this.#entries.removeAt(this.#entries.size - 1);
        this.grow(-memberBytes(member));
      });
    }
    if (!this.#isTable) this.#convertIfLarge(member);
    return true;
  }

  /** True if the member was there. */
  delete(member: string): boolean {
    const slot = this.#entries.slotOf(member);
    if (slot < 0) return false;
    this.#removeAt(slot);
    return true;
  }

  /** Removes a member by chance and returns it. */
  popRandom(random: Random): string {
    return this.#removeAt(this.#entries.randomSlot(random));
  }

  /** Its members; integers in ascending order while Redis would keep them so. */
  members(): string[] {
    const names = this.#entries.names();
    if (this.#isTable) return names.slice();
    return Array.from(BigInt64Array.from(names, BigInt).sort(), String);
  }

  memberAt(slot: number): string {
    return this.#entries.nameAt(slot);
  }

  randomMember(random: Random): string {
    return this.#entries.nameAt(this.#entries.randomSlot(random));
  }

  /** A step of SSCAN: a small set of integers is visited at once, whatever the count. */
  scan(cursor: number, count: number, visit: (member: string) => void): number {
    if (this.#isTable) {
      return this.#entries.scan(cursor, count, (slot) => visit(this.#entries.nameAt(slot)));
    }
    for (const member of this.members()) visit(member);
    return 0;
  }

  copy(): SetValue {
    const copy = new SetValue(this.journal);
    copy.#entries = this.#entries.copy();
    copy.#isTable = this.#isTable;
    copy.bytes = this.bytes;
    return copy;
  }

  #removeAt(slot: number): string {
    const member = this.#entries.nameAt(slot);
    this.#entries.removeAt(slot);
    this.grow(-memberBytes(member));
    if (this.journal.active) {
      this.journal.record(() => {
        this.#entries.restoreAt(slot, member, true);
        this.grow(memberBytes(member));
      }, memberBytes(member));
    }
    return member;
  }

  #convertIfLarge(member: string): void {
    if (this.#entries.size <= INTSET_ENTRIES && parseInteger(member) !== undefined) return;
    this.#isTable = true;
    if (this.journal.active) {
      this.journal.record(() => {
        this.#isTable = false;
      });
    }
  }
}

function memberBytes(member: string): number {
  return MEMBER_BYTES + stringBytes(member);
}

const EMPTY_BYTES = 480;
/** A member's places in the dictionary, when that has just grown. */
const MEMBER_BYTES = 80;
/** Redis's default of set-max-intset-entries. */
const INTSET_ENTRIES = 512;
