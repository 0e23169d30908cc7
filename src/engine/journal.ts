import { chargeScript } from '../lua/index.ts';
import { Footprint } from './footprint.ts';

/** What V8 takes for a closure in the list, with the variables that it captures. */
const RECORD_BYTES = 160;

/**
 * How to take back what a script wrote. While a script runs, every primitive change of the keyspace
 * or of a collection leaves its inverse here; a script that is stopped by its budget is undone by
 * running them backwards. Outside of scripts the journal is closed and costs one test of a boolean.
 */
export class Journal {
  active = false;
  readonly #undo: (() => void)[] = [];
  readonly #held: Footprint;

  /** `held` counts what is kept alive only to be put back. */
  constructor(held: Footprint = new Footprint()) {
    this.#held = held;
  }

  begin(): void {
    this.active = true;
  }

  /**
   * Keeps an inverse, and charges the script for it. That may stop the script: then `undo` runs, even if
   * its change was not made yet. `heldBytes` is what only the inverse keeps alive from now on.
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
