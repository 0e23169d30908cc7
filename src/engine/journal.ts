import { chargeScript } from '../lua/index.ts';

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

  begin(): void {
    this.active = true;
  }

  /**
   * Keeps an inverse, and charges the script for it and for the `heldBytes` that only the inverse
   * keeps alive. That may stop the script: then `undo` runs, even if its change was not made yet.
   */
  record(undo: () => void, heldBytes = 0): void {
    this.#undo.push(undo);
    chargeScript(RECORD_BYTES + heldBytes);
  }

  commit(): void {
    this.active = false;
    if (this.#undo.length > 0) this.#undo.length = 0;
  }

  rollBack(): void {
    this.active = false;
    for (let at = this.#undo.length - 1; at >= 0; at--) this.#undo[at]!();
    this.#undo.length = 0;
  }
}
