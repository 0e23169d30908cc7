import type { Journal } from './journal.ts';

export class HashValue {
  readonly type = 'hash';
  readonly journal: Journal;

  constructor(journal: Journal) {
    this.journal = journal;
  }

  get size(): number {
    return 0;
  }

  copy(): HashValue {
    return new HashValue(this.journal);
  }
}
