import { chargeScript } from '../lua/index.ts';
import { Changes } from './changes.ts';
import { Footprint } from './footprint.ts';

/** The memory of a closure in the list, with the variables that it captures. */
const RECORD_BYTES = 160;

/**
 * The undo journal of a script. While a script runs, every primitive change of the keyspace or of a collection
 * records its inverse. A script that exceeds its budget is rolled back by running the inverses in reverse order.
 * Outside of scripts the journal is inactive and costs one boolean test.
 */
export class Journal {
  active = false;
  /** The other record of changes: what the log gets. */
  readonly changes = new Changes();
  readonly #undo: (() => void)[] = [];
  readonly #held: Footprint;

  /** `held` counts the values that only the journal keeps alive. */
  constructor(held: Footprint = new Footprint()) {
    this.#held = held;
  }

  begin(): void {
    this.active = true;
  }

  /**
   * Records an inverse and charges the script for it. The charge may stop the script: then `undo` runs, even if its
   * change was not made yet. `heldBytes` is the size of the values that only the inverse keeps alive from now on.
   */
  record(undo: () => void, heldBytes = 0): void {
    this.#undo.push(undo);
    if (heldBytes > 0) this.#held.grow(heldBytes);
    chargeScript(RECORD_BYTES);
  }

  commit(): void {
    this.active = false;
    if (this.#undo.length > 0) this.#clear();
  }

  rollBack(): void {
    this.active = false;
    for (let at = this.#undo.length - 1; at >= 0; at--) this.#undo[at]!();
    this.#clear();
  }

  #clear(): void {
    this.#undo.length = 0;
    this.#held.grow(-this.#held.bytes);
  }
}
