/**
 * A key specification of Redis: where a command has keys, and what it does with them. COMMAND INFO returns it, and
 * COMMAND GETKEYS finds keys by it.
 */
export interface KeySpec {
  readonly use: KeyUse;
  readonly search: KeySearch;
  /** Remarks beyond the flags. */
  readonly notes?: string;
}

/**
 * Redis's flags. The value is read (RO), changed (RW), overwritten without reading it (OW) or removed (RM). The
 * user's data is returned, copied or compared (access), changed (update), added to (insert) or deleted (delete). A
 * type or a length is not user data.
 */
type KeyUse =
  | 'RO'
  | 'RO access'
  | 'RW access update'
  | 'RW access update variable_flags'
  | 'RW access delete'
  | 'RW update'
  | 'RW insert'
  | 'RW delete'
  | 'OW update'
  | 'OW insert'
  | 'RM delete'
  | 'not_key';

/** A key of a command: its position among the arguments, and what the command does with it. */
export interface KeyReference {
  readonly at: number;
  readonly needs: KeyNeeds;
}

export function keyReference(at: number, use: KeyUse): KeyReference {
  return { at, needs: NEEDS[use] };
}

interface KeyNeeds {
  readonly read: boolean;
  readonly write: boolean;
}

/**
 * The rights that a use needs, as in Redis. A use that neither returns nor changes user data, such as that of EXISTS,
 * needs neither.
 */
const NEEDS: Readonly<Record<KeyUse, KeyNeeds>> = {
  RO: { read: false, write: false },
  'RO access': { read: true, write: false },
  'RW access update': { read: true, write: true },
  'RW access update variable_flags': { read: true, write: true },
  'RW access delete': { read: true, write: true },
  'RW update': { read: false, write: true },
  'RW insert': { read: false, write: true },
  'RW delete': { read: false, write: true },
  'OW update': { read: false, write: true },
  'OW insert': { read: false, write: true },
  'RM delete': { read: false, write: true },
  not_key: { read: false, write: false },
};

type KeySearch =
  /** From `first` on. `last` is relative to `first`; negative: relative to the end. */
  | {
      readonly type: 'range';
      readonly first: number;
      readonly last: number;
      readonly step: number;
    }
  /** The argument at `countAt` is the number of keys that follow it: `LMPOP 2 a b LEFT`. */
  | { readonly type: 'counted'; readonly countAt: number }
  | { readonly type: 'unknown' };

export function oneKey(use: KeyUse, at = 1, notes?: string): KeySpec {
  return { use, search: { type: 'range', first: at, last: 0, step: 1 }, ...(notes && { notes }) };
}

/** All arguments from `first` to `last`, which is negative and relative to the end. */
export function keysUpTo(last: number, use: KeyUse, first = 1, step = 1): KeySpec {
  return { use, search: { type: 'range', first, last, step } };
}

export function countedKeys(countAt: number, use: KeyUse, notes?: string): KeySpec {
  return { use, search: { type: 'counted', countAt }, ...(notes && { notes }) };
}

/** Keys that only the command itself can find, with its `findKeys`. */
export function unknownKeys(use: KeyUse, notes: string): KeySpec {
  return { use, search: { type: 'unknown' }, notes };
}

/** The positions of the keys in `argv`; empty if they cannot be found. */
export function keyPositions({ search }: KeySpec, argv: readonly string[]): number[] {
  if (search.type === 'unknown') return [];
  if (search.type === 'counted') return countedPositions(search.countAt, argv);
  const { first, last, step } = search;
  const end = last < 0 ? argv.length + last : first + last;
  const positions: number[] = [];
  for (let at = first; at <= end; at += step) positions.push(at);
  return positions;
}

/** The keys of a command whose specifications are single positions, such as those of GET and RENAME; else undefined. */
export function fixedKeys(specs: readonly KeySpec[]): KeyReference[] | undefined {
  const found: KeyReference[] = [];
  for (const { use, search } of specs) {
    if (use === 'not_key') continue;
    if (search.type !== 'range' || search.last !== 0) return undefined;
    found.push(keyReference(search.first, use));
  }
  return found;
}

/** Whether the number of keys is given as 0, as in `EVAL script 0`. */
export function isZeroCount({ search }: KeySpec, argv: readonly string[]): boolean {
  return search.type === 'counted' && argv[search.countAt] === '0';
}

function countedPositions(countAt: number, argv: readonly string[]): number[] {
  // As in C, digits up to the first other char. No count has more than 32 digits.
  const count = Number.parseInt(argv[countAt]?.slice(0, 32) ?? '', 10);
  if (!(count >= 1) || countAt + count >= argv.length) return [];
  return Array.from({ length: count }, (_, at) => countAt + 1 + at);
}

/**
 * First key, last key and step: the form of COMMAND INFO before key specifications. It covers the range
 * specifications, which are adjacent; zeros if there is none.
 */
export function keyRange(specs: readonly KeySpec[]): [first: number, last: number, step: number] {
  const ranges = specs.flatMap(({ search }) => (search.type === 'range' ? [search] : []));
  if (ranges.length === 0) return [0, 0, 0];
  const { first, step } = ranges[0]!;
  const end = ranges.at(-1)!;
  return [first, end.last < 0 ? end.last : end.first + end.last, step];
}
