/**
 * A place where a command has keys, and what the command does with them. COMMAND INFO shows it as a key
 * specification of Redis; COMMAND GETKEYS finds the keys by it.
 */
export interface KeySpec {
  readonly use: KeyUse;
  readonly search: KeySearch;
  /** What the flags cannot say. */
  readonly notes?: string;
}

/**
 * Redis's flags. What happens to the value: it is read (RO), changed (RW), overwritten without a look at
 * it (OW) or removed (RM). What happens to the data of the user: it is returned, copied or
 * compared (access), changed, added to or deleted. A type or a length is no data.
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

type KeySearch =
  /** From `first` on. `last` counts from `first`, or, when it is negative, from the end. */
  | {
      readonly type: 'range';
      readonly first: number;
      readonly last: number;
      readonly step: number;
    }
  /** The argument at `countAt` says how many keys follow it: `LMPOP 2 a b LEFT`. */
  | { readonly type: 'counted'; readonly countAt: number }
  | { readonly type: 'unknown' };

export function oneKey(use: KeyUse, at = 1, notes?: string): KeySpec {
  return { use, search: { type: 'range', first: at, last: 0, step: 1 }, ...(notes && { notes }) };
}

/** All arguments from `first` on up to `last`, which is negative and counts from the end. */
export function keysUpTo(last: number, use: KeyUse, first = 1, step = 1): KeySpec {
  return { use, search: { type: 'range', first, last, step } };
}

export function countedKeys(countAt: number, use: KeyUse, notes?: string): KeySpec {
  return { use, search: { type: 'counted', countAt }, ...(notes && { notes }) };
}

/** Keys that only the command itself can find. */
export function unknownKeys(use: KeyUse, notes: string): KeySpec {
  return { use, search: { type: 'unknown' }, notes };
}

/** The positions of the keys in `argv`; none where they cannot be found. */
export function keyPositions({ search }: KeySpec, argv: readonly string[]): number[] {
  if (search.type === 'unknown') return [];
  if (search.type === 'counted') return countedPositions(search.countAt, argv);
  const { first, last, step } = search;
  const end = last < 0 ? argv.length + last : first + last;
  const positions: number[] = [];
  for (let at = first; at <= end; at += step) positions.push(at);
  return positions;
}

function countedPositions(countAt: number, argv: readonly string[]): number[] {
  // As C reads it: digits up to the first char that is none. No count has more than 32 of them.
  const count = Number.parseInt(argv[countAt]?.slice(0, 32) ?? '', 10);
  if (!(count >= 1) || countAt + count >= argv.length) return [];
  return Array.from({ length: count }, (_, at) => countAt + 1 + at);
}

/**
 * First key, last key and step, by which Redis described keys before it had specifications: those of the
 * ranges, which lie side by side; zeros if there is none.
 */
export function keyRange(specs: readonly KeySpec[]): [first: number, last: number, step: number] {
  const ranges = specs.flatMap(({ search }) => (search.type === 'range' ? [search] : []));
  if (ranges.length === 0) return [0, 0, 0];
  const { first, step } = ranges[0]!;
  const end = ranges.at(-1)!;
  return [first, end.last < 0 ? end.last : end.first + end.last, step];
}
