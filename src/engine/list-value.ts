import type { Journal } from './journal.ts';

export class ListValue {
  readonly type = 'list';
  readonly journal: Journal;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  get size(): number {
    return 0;
  }

  copy(): ListValue {
    return new ListValue(this.journal);
  }
}
