/**
 * The group of a lock: its name with numbers, ids and what looks like them replaced by `*`, so that `order:41` and
 * `order:42` are both `order:*`.
 */
export function groupOf(name: string): string {
  const start = name.slice(0, MAX_LENGTH);
  const group = start.replaceAll(UUID, '*').replaceAll(WORD, (word) => (isId(word) ? '*' : word));
  return group.replaceAll(/\*(?:[-.]?\*)+/g, '*');
}

/** Counts by group. Groups beyond MAX_GROUPS are counted together, since a series is kept for each. */
export class GroupCounts<Counts> {
  readonly #create: () => Counts;
  readonly #groups = new Map<string, Counts>();
  /** The groups of recent names: finding one takes longer than a request. */
  readonly #known = new Map<string, Counts>();

  constructor(create: () => Counts) {
    this.#create = create;
  }

  of(name: string): Counts {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const counts = this.#ofGroup(groupOf(name));
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    if (name.length <= MAX_LENGTH) this.#known.set(name, counts);
    return counts;
  }

  entries(): [group: string, counts: Counts][] {
    return [...this.#groups];
  }

  #ofGroup(group: string): Counts {
    const key = this.#groups.has(group) || this.#groups.size < MAX_GROUPS ? group : OTHERS;
    const counts = this.#groups.get(key) ?? this.#create();
    this.#groups.set(key, counts);
    return counts;
  }
}

const UUID = /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/gi;
/** What is between separators. */
const WORD = /[\p{L}\p{N}_]+/gu;

/** A number, a hexadecimal id, or a long word with digits in it. */
function isId(word: string): boolean {
  if (/^\d+$/.test(word)) return true;
  return /\d/.test(word) && (/^[0-9a-f]{6,}$/i.test(word) || word.length >= 16);
}

const OTHERS = '(others)';
const MAX_GROUPS = 100;
const MAX_KNOWN = 1000;
/** Of a longer name only the start counts. */
const MAX_LENGTH = 200;
