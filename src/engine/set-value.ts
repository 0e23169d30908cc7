import type { Journal } from './journal.ts';

export class SetValue {
  readonly type = 'set';
  readonly journal: Journal;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  get size(): number {
    return 0;
  }

  copy(): SetValue {
    return new SetValue(this.journal);
  }
}
