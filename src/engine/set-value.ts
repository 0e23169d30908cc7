import type { Random } from '../clock/index.ts';
import { Dictionary } from './dictionary.ts';
import { Footprint, stringBytes } from './footprint.ts';
import type { Journal } from './journal.ts';
import { parseInteger } from './number.ts';

/** A set. Every change records its inverse while the journal is active. */
export class SetValue extends Footprint {
  readonly type = 'set';
  readonly journal: Journal;
  #entries = new Dictionary<true>();
  /** Redis would have converted the intset to a hash table. It never converts back. */
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

  /** Returns true if the member is new. */
  add(member: string): boolean {
    if (this.#entries.set(member, true)) return false;
    this.grow(memberBytes(member));
    if (this.journal.active) {
      this.journal.record(() => {
        this.#entries.removeAt(this.#entries.size - 1);
        this.grow(-memberBytes(member));
      });
    }
    if (this.journal.changes.isOn) this.journal.changes.add(this, 'SADD', member);
    if (!this.#isTable) this.#convertIfLarge(member);
    return true;
  }

  /** Returns true if the member existed. */
  delete(member: string): boolean {
    const slot = this.#entries.slotOf(member);
    if (slot < 0) return false;
    this.#removeAt(slot);
    return true;
  }

  /** Removes a random member and returns it. */
  popRandom(random: Random): string {
    return this.#removeAt(this.#entries.randomSlot(random));
  }

  /** The members; in ascending order while Redis would use an intset. */
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

  /** One step of SSCAN. As in Redis, an intset is visited in one step, whatever the count. */
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
    if (this.journal.changes.isOn) this.journal.changes.add(this, 'SREM', member);
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
/** The memory of a member in the dictionary's arrays, just after they have grown. */
const MEMBER_BYTES = 80;
/** The default of set-max-intset-entries in Redis. */
const INTSET_ENTRIES = 512;
