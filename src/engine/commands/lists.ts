import { ErrorReply, OK, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { NO_SUCH_KEY, OUT_OF_RANGE, SYNTAX_ERROR, WRONG_TYPE } from '../errors.ts';
import { oneKey } from '../key-spec.ts';
import { type End, ListValue } from '../list-value.ts';
import { integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';

const PUSH = ['write', 'denyoom', 'fast'] as const;

const PUSH_COST = 'O(1) for each element, O(N) for N of them';

export const lists = {
  LPUSH: {
    arity: -3,
    keys: [oneKey('RW insert')],
    flags: PUSH,
    run: (session, argv) => push(session, argv, 'left', true),
    syntax: 'key element [element ...]',
    summary: 'Inserts elements at the front of a list; returns its length',
    since: '1.0.0',
    complexity: PUSH_COST,
    history: [['2.4.0', 'Accepts several elements']],
  },
  RPUSH: {
    arity: -3,
    keys: [oneKey('RW insert')],
    flags: PUSH,
    run: (session, argv) => push(session, argv, 'right', true),
    syntax: 'key element [element ...]',
    summary: 'Appends elements to a list; returns its length',
    since: '1.0.0',
    complexity: PUSH_COST,
    history: [['2.4.0', 'Accepts several elements']],
  },
  LPUSHX: {
    arity: -3,
    keys: [oneKey('RW insert')],
    flags: PUSH,
    run: (session, argv) => push(session, argv, 'left', false),
    syntax: 'key element [element ...]',
    summary: 'Inserts elements at the front of a list only if it exists',
    since: '2.2.0',
    complexity: PUSH_COST,
    history: [['4.0.0', 'Accepts several elements']],
  },
  RPUSHX: {
    arity: -3,
    keys: [oneKey('RW insert')],
    flags: PUSH,
    run: (session, argv) => push(session, argv, 'right', false),
    syntax: 'key element [element ...]',
    summary: 'Appends elements to a list only if it exists',
    since: '2.2.0',
    complexity: PUSH_COST,
    history: [['4.0.0', 'Accepts several elements']],
  },
  LLEN: {
    arity: 2,
    keys: [oneKey('RO')],
    flags: ['readonly', 'fast'],
    run: (session, argv) => session.database.list(argv[1]!)?.size ?? 0,
    syntax: 'key',
    summary: 'Returns the length of a list',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  LINDEX: {
    arity: 3,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: lindex,
    syntax: 'key index',
    summary: 'Returns the element at an index; a negative one counts from the end',
    since: '1.0.0',
    complexity:
      'O(N) in Redis, for N elements up to the index, O(1) at both ends; here always O(1)',
  },
  LSET: {
    arity: 4,
    keys: [oneKey('RW update')],
    flags: ['write', 'denyoom'],
    run: lset,
    syntax: 'key index element',
    summary: 'Replaces the element at an index',
    since: '1.0.0',
    complexity: 'O(N) in Redis, for N elements, O(1) at both ends; here always O(1)',
  },
  LRANGE: {
    arity: 4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: lrange,
    syntax: 'key start stop',
    summary: 'Returns the elements between two indexes, both included',
    since: '1.0.0',
    complexity: 'O(S+N) for N elements, S elements away from an end',
  },
  LTRIM: {
    arity: 4,
    keys: [oneKey('RW delete')],
    flags: ['write'],
    run: ltrim,
    syntax: 'key start stop',
    summary: 'Keeps only the elements between two indexes, both included',
    since: '1.0.0',
    complexity: 'O(N) for N removed elements',
  },
  LINSERT: {
    arity: 5,
    keys: [oneKey('RW insert')],
    flags: ['write', 'denyoom'],
    run: linsert,
    syntax: 'key BEFORE|AFTER pivot element',
    summary: 'Inserts an element before or after another',
    since: '2.2.0',
    complexity: 'O(N) for N elements; in Redis O(1) near the head',
  },
  LREM: {
    arity: 4,
    keys: [oneKey('RW delete')],
    flags: ['write'],
    run: lrem,
    syntax: 'key count element',
    summary: 'Removes elements with a value, from the front, from the end or all',
    since: '1.0.0',
    complexity: 'O(N+M) for N elements of which M are removed',
  },
  LPOS: {
    arity: -3,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: lpos,
    syntax: 'key element [RANK rank] [COUNT num-matches] [MAXLEN len]',
    summary: 'Returns the indexes of elements with a value',
    since: '6.0.6',
    complexity: 'O(N) for N elements; less if the match is near or MAXLEN is small',
  },
} as const satisfies CommandTable;

export const PUSH_EVENTS = { left: 'lpush', right: 'rpush' } as const;

/** The list at a key, for a command that writes: counts neither as a hit nor as a miss. */
export function listToChange({ database }: Session, key: string): ListValue | undefined {
  const value = database.peek(key);
  if (value === undefined || value instanceof ListValue) return value;
  throw WRONG_TYPE;
}

export function createList({ database, engine }: Session, key: string): ListValue {
  const list = new ListValue(engine.journal);
  database.set(key, list);
  return list;
}

export function changed({ database }: Session, event: string, key: string): void {
  database.changed(key);
  database.notify('list', event, key);
}

function push(session: Session, argv: readonly string[], end: End, creates: boolean): Reply {
  const key = argv[1]!;
  const existing = listToChange(session, key);
  if (existing === undefined && !creates) return 0;
  const list = existing ?? createList(session, key);
  for (let at = 2; at < argv.length; at++) list.push(end, argv[at]!);
  changed(session, PUSH_EVENTS[end], key);
  return list.size;
}

function lindex(session: Session, argv: readonly string[]): Reply {
  const list = session.database.list(argv[1]!);
  if (list === undefined) return null;
  const index = indexArgument(argv[2]!, list.size);
  return index < 0 || index >= list.size ? null : list.at(index);
}

function lset(session: Session, argv: readonly string[]): Reply {
  const list = listToChange(session, argv[1]!);
  if (list === undefined) throw NO_SUCH_KEY;
  const index = indexArgument(argv[2]!, list.size);
  if (index < 0 || index >= list.size) throw OUT_OF_RANGE;
  list.set(index, argv[3]!);
  changed(session, 'lset', argv[1]!);
  return OK;
}

/** Parses an index and converts it to one from the front; negative if it is before the first element. */
function indexArgument(text: string, size: number): number {
  const index = integerArgument(text);
  return index < 0 ? size + index : index;
}

function lrange(session: Session, argv: readonly string[]): Reply {
  const start = integerArgument(argv[2]!);
  const stop = integerArgument(argv[3]!);
  const list = session.database.list(argv[1]!);
  if (list === undefined) return [];
  const [begin, end] = rangeWithin(list.size, start, stop);
  return list.slice(begin, end);
}

function ltrim(session: Session, argv: readonly string[]): Reply {
  const start = integerArgument(argv[2]!);
  const stop = integerArgument(argv[3]!);
  const key = argv[1]!;
  const list = listToChange(session, key);
  if (list === undefined) return OK;
  const [begin, end] = rangeWithin(list.size, start, stop);
  for (let left = list.size - end; left > 0; left--) list.pop('right');
  for (let left = begin; left > 0; left--) list.pop('left');
  changed(session, 'ltrim', key);
  session.database.deleteIfEmpty(key, list);
  return OK;
}

/** Converts two inclusive indexes to a half-open range within the list. */
function rangeWithin(size: number, start: number, stop: number): [begin: number, end: number] {
  const begin = Math.max(0, start < 0 ? size + start : start);
  const end = Math.min(size, (stop < 0 ? size + stop : stop) + 1);
  return begin < end ? [begin, end] : [0, 0];
}

function linsert(session: Session, argv: readonly string[]): Reply {
  const where = upper(argv[2]!);
  if (where !== 'BEFORE' && where !== 'AFTER') throw SYNTAX_ERROR;
  const list = listToChange(session, argv[1]!);
  if (list === undefined) return 0;
  let pivot = 0;
  while (pivot < list.size && list.at(pivot) !== argv[3]) pivot++;
  if (pivot === list.size) return -1;
  list.insert(where === 'BEFORE' ? pivot : pivot + 1, argv[4]!);
  changed(session, 'linsert', argv[1]!);
  return list.size;
}

function lrem(session: Session, argv: readonly string[]): Reply {
  const count = integerArgument(argv[2]!);
  const key = argv[1]!;
  const list = listToChange(session, key);
  if (list === undefined) return 0;
  const limit = count === 0 ? list.size : Math.abs(count);
  const removed = list.remove(argv[3]!, limit, count < 0 ? 'right' : 'left');
  if (removed === 0) return 0;
  changed(session, 'lrem', key);
  session.database.deleteIfEmpty(key, list);
  return removed;
}

function lpos(session: Session, argv: readonly string[]): Reply {
  const { rank, count, maxLength } = parseLpos(argv);
  const list = session.database.list(argv[1]!);
  const matches: number[] = [];
  const size = list?.size ?? 0;
  const wanted = count || (count === 0 ? size : 1);
  let toSkip = Math.abs(rank) - 1;
  for (let step = 0; step < Math.min(size, maxLength || size); step++) {
    if (matches.length === wanted) break;
    const index = rank > 0 ? step : size - 1 - step;
    if (list!.at(index) === argv[2] && toSkip-- <= 0) matches.push(index);
  }
  return count === undefined ? (matches[0] ?? null) : matches;
}

interface LposOptions {
  rank: number;
  /** undefined: one match, not in an array; zero: all. */
  count: number | undefined;
  /** The number of elements to compare; zero: all. */
  maxLength: number;
}

function parseLpos(argv: readonly string[]): LposOptions {
  const options: LposOptions = { rank: 1, count: undefined, maxLength: 0 };
  for (let at = 3; at < argv.length; at += 2) {
    const word = upper(argv[at]!);
    const value = argv[at + 1];
    if (value === undefined) throw SYNTAX_ERROR;
    if (word === 'RANK') options.rank = integerArgument(value);
    else if (word === 'COUNT') options.count = positiveArgument(value, NEGATIVE_COUNT);
    else if (word === 'MAXLEN') options.maxLength = positiveArgument(value, NEGATIVE_LENGTH);
    else throw SYNTAX_ERROR;
    if (options.rank === 0) throw ZERO_RANK;
  }
  return options;
}

export function positiveArgument(text: string, error: ErrorReply): number {
  const value = integerArgument(text, error);
  if (value < 0) throw error;
  return value;
}

const NEGATIVE_COUNT = new ErrorReply("ERR COUNT can't be negative");
const NEGATIVE_LENGTH = new ErrorReply("ERR MAXLEN can't be negative");
const ZERO_RANK = new ErrorReply(
  "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
);
