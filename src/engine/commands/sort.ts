import { ErrorReply, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import type { Database } from '../database.ts';
import { SYNTAX_ERROR, WRONG_TYPE } from '../errors.ts';
import { assertPattern } from '../glob.ts';
import { HashValue } from '../hash-value.ts';
import { type KeyReference, keyReference, oneKey, unknownKeys } from '../key-spec.ts';
import { ListValue } from '../list-value.ts';
import { integerArgument, parseFloat64, parseInteger, withoutLeadingSpaces } from '../number.ts';
import { assertReplyItems } from '../reply-items.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';
import type { Collection, Value } from '../value.ts';

const SORT_COST =
  'O(N+M*log(M)) for N elements of which M are returned; O(N) if they are not sorted';

export const sort = {
  SORT: {
    arity: -2,
    keys: [
      oneKey('RO access'),
      unknownKeys('RO access', 'The names for BY and GET come from the elements'),
      unknownKeys('OW update', 'STORE may stand anywhere among the arguments'),
    ],
    findKeys: sortKeys,
    flags: ['write', 'denyoom', 'movablekeys'],
    run: (session, argv) => sortAndStore(session, argv, parseSort(argv, true)),
    countsReads: true,
    syntax:
      'key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC|DESC] [ALPHA] [STORE destination]',
    summary: 'Sorts the elements of a list, a set or a sorted set; returns or stores them',
    since: '1.0.0',
    complexity: SORT_COST,
  },
  SORT_RO: {
    arity: -2,
    keys: [
      oneKey('RO access'),
      unknownKeys('RO access', 'The names for BY and GET come from the elements'),
    ],
    findKeys: () => [SOURCE],
    flags: ['readonly', 'movablekeys'],
    run: (session, argv) => sortAndStore(session, argv, parseSort(argv, false)),
    syntax:
      'key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]] [ASC|DESC] [ALPHA]',
    summary: 'Sorts the elements of a list, a set or a sorted set without storing them',
    since: '7.0.0',
    complexity: SORT_COST,
  },
} as const satisfies CommandTable;

const SOURCE = keyReference(1, 'RO access');

interface SortOptions {
  /** The pattern of BY; undefined: sort by the elements themselves. */
  by: string | undefined;
  /** BY has no star: the elements are not sorted. */
  keepsOrder: boolean;
  readonly get: string[];
  offset: number;
  /** Negative: all. */
  count: number;
  descending: boolean;
  alphabetic: boolean;
  store: string | undefined;
}

function parseSort(argv: readonly string[], mayStore: boolean): SortOptions {
  const options: SortOptions = {
    by: undefined,
    keepsOrder: false,
    get: [],
    offset: 0,
    count: -1,
    descending: false,
    alphabetic: false,
    store: undefined,
  };
  for (let at = 2; at < argv.length; ) at += parseOption(options, argv, at, mayStore);
  return options;
}

/** Parses one option. Returns the number of its arguments. */
function parseOption(
  options: SortOptions,
  argv: readonly string[],
  at: number,
  mayStore: boolean,
): number {
  const word = upper(argv[at]!);
  const value = argv[at + 1];
  if (word === 'ASC' || word === 'DESC') options.descending = word === 'DESC';
  else if (word === 'ALPHA') options.alphabetic = true;
  else if (value === undefined) throw SYNTAX_ERROR;
  else return parseValue(options, word, value, argv[at + 2], mayStore);
  return 1;
}

function parseValue(
  options: SortOptions,
  word: string,
  value: string,
  next: string | undefined,
  mayStore: boolean,
): number {
  if (word === 'LIMIT' && next !== undefined) {
    options.offset = integerArgument(value);
    options.count = integerArgument(next);
    return 3;
  }
  if (word === 'STORE' && mayStore) options.store = value;
  else if (word === 'GET') {
    assertPattern(value);
    options.get.push(value);
  } else if (word === 'BY') {
    assertPattern(value);
    options.by = value;
    options.keepsOrder ||= !value.includes('*');
  } else throw SYNTAX_ERROR;
  return 2;
}

/**
 * The key to sort and the key of the last STORE. The keys of patterns are not known in advance: `assertMayFollow`
 * checks the right to read them. Skips the same arguments as `parseOption`: the name of a key may be the word of an
 * option.
 */
function sortKeys(argv: readonly string[]): KeyReference[] {
  let store = 0;
  for (let at = 2; at < argv.length; at++) {
    const word = upper(argv[at]!);
    if (word === 'LIMIT') at += 2;
    else if (word === 'GET' || word === 'BY') at++;
    else if (word === 'STORE' && at + 1 < argv.length) store = ++at;
  }
  return store > 0 ? [SOURCE, keyReference(store, 'OW update')] : [SOURCE];
}

/** Patterns name keys that no rule can check in advance, so that they need the right to read every key. */
function assertMayFollow(
  { engine, user }: Session,
  argv: readonly string[],
  { by, keepsOrder, get }: SortOptions,
): void {
  const follows = by !== undefined && !keepsOrder;
  if (!follows && get.length === 0) return;
  if (engine.acl.mayReadAllKeys(user, argv)) return;
  const option = follows ? 'BY' : 'GET';
  throw new ErrorReply(`ERR ${option} option of SORT denied due to insufficient ACL permissions.`);
}

function sortAndStore(session: Session, argv: readonly string[], options: SortOptions): Reply {
  const { database } = session;
  if (!session.user.isUnrestricted) assertMayFollow(session, argv, options);
  const value = database.get(argv[1]!);
  if (typeof value === 'string' || value instanceof HashValue) throw WRONG_TYPE;
  if (value?.type === 'zset') value.convertToSkiplist();
  // A set has no order: as in Redis, it is sorted if the result is stored or used by a script.
  const isKept = options.store !== undefined || session.isScript;
  if (options.keepsOrder && value?.type === 'set' && isKept) {
    options.keepsOrder = false;
    options.alphabetic = true;
    options.by = undefined;
  }
  reserveFor(session, value, options);
  const elements = elementsOf(value);
  const ordered = options.keepsOrder
    ? keptOrder(elements, value, options)
    : sorted(database, elements, options);
  const chosen = limited(ordered, options);
  const { get } = options;
  if (get.length > 1) assertReplyItems(chosen.length * get.length);
  const results =
    get.length === 0
      ? chosen
      : chosen.flatMap((element) => get.map((pattern) => lookUp(database, pattern, element)));
  return options.store === undefined ? results : store(session, options.store, results);
}

/** Checks that there is memory for the arrays that sorting needs, and for the results of GET. */
function reserveFor(
  { engine }: Session,
  value: Collection | undefined,
  options: SortOptions,
): void {
  const size = value?.size ?? 0;
  engine.memory.reserve(size * (SORTED_BYTES + options.get.length * RESULT_BYTES));
}

const SORTED_BYTES = 64;
const RESULT_BYTES = 32;

function elementsOf(value: Exclude<Value, string | HashValue> | undefined): readonly string[] {
  if (value === undefined) return [];
  if (value.type === 'list') return value.slice(0, value.size);
  return value.type === 'set' ? value.members() : value.range(0, value.size).members;
}

/** As in Redis, DESC reverses lists and sorted sets, but not sets. */
function keptOrder(
  elements: readonly string[],
  value: Value | undefined,
  { descending }: SortOptions,
): readonly string[] {
  const isSet = typeof value === 'object' && value.type === 'set';
  return descending && !isSet ? elements.toReversed() : elements;
}

function limited(elements: readonly string[], { offset, count }: SortOptions): readonly string[] {
  const begin = Math.max(offset, 0);
  return elements.slice(begin, count < 0 ? undefined : begin + count);
}

function sorted(
  database: Database,
  elements: readonly string[],
  { by, alphabetic, descending, offset, count }: SortOptions,
): string[] {
  const wanted = count < 0 ? elements.length : Math.max(offset, 0) + count;
  const isPart = wanted <= MAX_PART;
  if (alphabetic && by === undefined && !isPart) return sortedTexts(elements, descending);
  const weights = elements.map((element) =>
    by === undefined ? element : lookUp(database, by, element),
  );
  const compare = alphabetic ? byText(weights) : byNumber(weights, elements);
  const ordered: Compare = descending ? (a, b) => -compare(a, b) : compare;
  if (isPart) return firstSlots(elements.length, ordered, wanted).map((slot) => elements[slot]!);
  const slots = new Uint32Array(elements.length);
  for (let slot = 0; slot < slots.length; slot++) slots[slot] = slot;
  slots.sort(ordered);
  const inOrder: string[] = [];
  for (const slot of slots) inOrder.push(elements[slot]!);
  return inOrder;
}

/** Sorts by bytes. Array.sort without a callback takes half the time. */
function sortedTexts(elements: readonly string[], descending: boolean): string[] {
  const bytes = elements.reduce((sum, { length }) => sum + length, 0);
  if (bytes * Math.log2(elements.length + 1) > MAX_COMPARED_BYTES) throw TOO_MUCH_TEXT;
  const inOrder = elements.toSorted();
  return descending ? inOrder.reverse() : inOrder;
}

type Compare = (a: number, b: number) => number;

/** The first `wanted` slots in order, for LIMIT, without sorting the others. */
function firstSlots(size: number, compare: Compare, wanted: number): number[] {
  const first: number[] = [];
  for (let slot = 0; slot < size; slot++) {
    let at = first.length;
    while (at > 0 && compare(slot, first[at - 1]!) < 0) at--;
    if (at === wanted) continue;
    first.splice(at, 0, slot);
    if (first.length > wanted) first.pop();
  }
  return first;
}

/** With a larger LIMIT, sorting everything is faster. */
const MAX_PART = 16;

/** Compares by bytes, as in the C locale. Elements without a weight come first. */
function byText(weights: readonly (string | null)[]): Compare {
  let comparedBytes = 0;
  return (a, b) => {
    const first = weights[a]!;
    const second = weights[b]!;
    if (first === null || second === null) return Number(second === null) - Number(first === null);
    comparedBytes += Math.min(first.length, second.length);
    if (comparedBytes > MAX_COMPARED_BYTES) throw TOO_MUCH_TEXT;
    return compareBytes(first, second);
  };
}

/** Compares by number. A missing weight is zero; equal weights are ordered by element. */
function byNumber(weights: readonly (string | null)[], elements: readonly string[]): Compare {
  const numbers = Float64Array.from(weights, (weight) => (weight === null ? 0 : toNumber(weight)));
  return (a, b) => {
    const first = numbers[a]!;
    const second = numbers[b]!;
    if (first !== second) return first < second ? -1 : 1;
    return compareBytes(elements[a]!, elements[b]!);
  };
}

function compareBytes(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Parses like C's strtod: stops at a NUL byte, skips leading spaces, and an empty text is zero. */
function toNumber(text: string): number {
  const integer = parseInteger(text);
  if (typeof integer === 'number') return integer;
  const end = text.indexOf('\0');
  const body = end < 0 ? text : text.slice(0, end);
  if (body === '') return 0;
  const value = parseFloat64(withoutLeadingSpaces(body));
  if (value === undefined) throw NOT_NUMBERS;
  return value;
}

/**
 * Resolves a pattern: `#` is the element, `weight_*` the string at the key with the element in place of the star, and
 * `object_*->field` a field of the hash at that key.
 */
function lookUp(database: Database, pattern: string, element: string): string | null {
  if (pattern === '#') return element;
  const star = pattern.indexOf('*');
  if (star < 0) return null;
  const arrow = pattern.indexOf('->', star + 1);
  const hasField = arrow >= 0 && arrow + 2 < pattern.length;
  const tail = pattern.slice(star + 1, hasField ? arrow : undefined);
  const value = database.get(pattern.slice(0, star) + element + tail);
  if (!hasField) return typeof value === 'string' ? value : null;
  return value instanceof HashValue ? (value.get(pattern.slice(arrow + 2)) ?? null) : null;
}

function store(session: Session, key: string, results: readonly (string | null)[]): number {
  const { database, engine } = session;
  if (results.length > 0) {
    const list = new ListValue(engine.journal);
    for (const result of results) list.push('right', result ?? '');
    database.set(key, list);
    database.notify('list', 'sortstore', key);
  } else if (database.delete(key)) {
    database.notify('generic', 'del', key);
  }
  return results.length;
}

/** Comparing this much takes about a second. Many elements can have the same long weight. */
const MAX_COMPARED_BYTES = 2 ** 33;
const TOO_MUCH_TEXT = new ErrorReply('ERR SORT would compare too much text');
const NOT_NUMBERS = new ErrorReply("ERR One or more scores can't be converted into double");
