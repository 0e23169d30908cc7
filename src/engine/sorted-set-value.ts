import type { Journal } from './journal.ts';

export class SortedSetValue {
  readonly type = 'zset';
  readonly journal: Journal;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  get size(): number {
    return 0;
  }

  copy(): SortedSetValue {
    return new SortedSetValue(this.journal);
  }
}
