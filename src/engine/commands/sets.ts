import { ErrorReply, type Reply, SetReply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { NOT_POSITIVE, SYNTAX_ERROR, WRONG_TYPE } from '../errors.ts';
import type { Journal } from '../journal.ts';
import { countedKeys, keysUpTo, oneKey } from '../key-spec.ts';
import { integerArgument } from '../number.ts';
import { sampleCountArgument, sampleSlots } from '../random-sample.ts';
import { parseCursor, scanArguments, scanReply } from '../scan-arguments.ts';
import type { Session } from '../session.ts';
import { SetValue } from '../set-value.ts';
import { upper } from '../text.ts';

const READ = ['readonly', 'fast'] as const;
const READ_ALL = ['readonly'] as const;
const STORE = ['write', 'denyoom'] as const;

const EVERY_MEMBER_COST = 'O(N) for N members in all the sets together';
const INTERSECTION_COST = 'O(N*M) at worst, for M sets of which the smallest has N members';

export const sets = {
  SADD: {
    arity: -3,
    keys: [oneKey('RW insert')],
    flags: ['write', 'denyoom', 'fast'],
    run: sadd,
    syntax: 'key member [member ...]',
    summary: 'Adds members to a set; returns how many are new',
    since: '1.0.0',
    complexity: 'O(1) for each member, O(N) for N of them',
    history: [['2.4.0', 'Accepts several members']],
  },
  SREM: {
    arity: -3,
    keys: [oneKey('RW delete')],
    flags: ['write', 'fast'],
    run: srem,
    syntax: 'key member [member ...]',
    summary: 'Removes members; returns how many existed',
    since: '1.0.0',
    complexity: 'O(N) for N members',
    history: [['2.4.0', 'Accepts several members']],
  },
  SMEMBERS: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ_ALL,
    run: (session, argv) => new SetReply(session.database.setOf(argv[1]!)?.members() ?? []),
    syntax: 'key',
    summary: 'Returns every member',
    since: '1.0.0',
    complexity: 'O(N) for N members in the set',
    tips: ['nondeterministic_output_order'],
  },
  SISMEMBER: {
    arity: 3,
    keys: [oneKey('RO')],
    flags: READ,
    run: (session, argv) => (session.database.setOf(argv[1]!)?.has(argv[2]!) ? 1 : 0),
    syntax: 'key member',
    summary: 'Returns 1 if a set has a member',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  SMISMEMBER: {
    arity: -3,
    keys: [oneKey('RO access')],
    flags: READ,
    run: smismember,
    syntax: 'key member [member ...]',
    summary: 'Returns for each member whether a set has it',
    since: '6.2.0',
    complexity: 'O(N) for N members to check',
  },
  SCARD: {
    arity: 2,
    keys: [oneKey('RO')],
    flags: READ,
    run: (session, argv) => session.database.setOf(argv[1]!)?.size ?? 0,
    syntax: 'key',
    summary: 'Returns the number of members',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  SPOP: {
    arity: -2,
    keys: [oneKey('RW access delete')],
    flags: ['write', 'fast'],
    run: spop,
    syntax: 'key [count]',
    summary: 'Removes and returns random members',
    since: '1.0.0',
    complexity: 'O(1); with a count of N O(N)',
    history: [['3.2.0', 'Accepts a count']],
    tips: ['nondeterministic_output'],
  },
  SRANDMEMBER: {
    arity: -2,
    keys: [oneKey('RO access')],
    flags: READ_ALL,
    run: srandmember,
    syntax: 'key [count]',
    summary: 'Returns random members; with a negative count they may repeat',
    since: '1.0.0',
    complexity: 'O(1); with a count of N or -N O(N)',
    history: [['2.6.0', 'Accepts a count']],
    tips: ['nondeterministic_output'],
  },
  SMOVE: {
    arity: 4,
    keys: [oneKey('RW access delete'), oneKey('RW insert', 2)],
    flags: ['write', 'fast'],
    run: smove,
    syntax: 'source destination member',
    summary: 'Moves a member from one set to another',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  SINTER: {
    arity: -2,
    keys: [keysUpTo(-1, 'RO access')],
    flags: READ_ALL,
    run: (session, argv) => new SetReply(intersection(setsAt(session, argv, 1, argv.length))),
    syntax: 'key [key ...]',
    summary: 'Returns the members that all the sets have',
    since: '1.0.0',
    complexity: INTERSECTION_COST,
    tips: ['nondeterministic_output_order'],
  },
  SINTERSTORE: {
    arity: -3,
    keys: [oneKey('RW update'), keysUpTo(-1, 'RO access', 2)],
    flags: STORE,
    run: sinterstore,
    countsReads: true,
    syntax: 'destination key [key ...]',
    summary: 'Stores the members that all the sets have',
    since: '1.0.0',
    complexity: INTERSECTION_COST,
  },
  SINTERCARD: {
    arity: -3,
    keys: [countedKeys(1, 'RO access')],
    flags: ['readonly', 'movablekeys'],
    run: sintercard,
    syntax: 'numkeys key [key ...] [LIMIT limit]',
    summary: 'Counts the members that all the sets have, up to a limit',
    since: '7.0.0',
    complexity: INTERSECTION_COST,
  },
  SUNION: {
    arity: -2,
    keys: [keysUpTo(-1, 'RO access')],
    flags: READ_ALL,
    run: (session, argv) => new SetReply(union(session, argv, 1).members()),
    syntax: 'key [key ...]',
    summary: 'Returns the members that any of the sets has',
    since: '1.0.0',
    complexity: EVERY_MEMBER_COST,
    tips: ['nondeterministic_output_order'],
  },
  SUNIONSTORE: {
    arity: -3,
    keys: [oneKey('OW update'), keysUpTo(-1, 'RO access', 2)],
    flags: STORE,
    run: (session, argv) => store(session, argv[1]!, union(session, argv, 2), 'sunionstore'),
    countsReads: true,
    syntax: 'destination key [key ...]',
    summary: 'Stores the members that any of the sets has',
    since: '1.0.0',
    complexity: EVERY_MEMBER_COST,
  },
  SDIFF: {
    arity: -2,
    keys: [keysUpTo(-1, 'RO access')],
    flags: READ_ALL,
    run: (session, argv) => new SetReply(difference(session, argv, 1).members()),
    syntax: 'key [key ...]',
    summary: 'Returns the members of the first set that no other has',
    since: '1.0.0',
    complexity: EVERY_MEMBER_COST,
    tips: ['nondeterministic_output_order'],
  },
  SDIFFSTORE: {
    arity: -3,
    keys: [oneKey('OW update'), keysUpTo(-1, 'RO access', 2)],
    flags: STORE,
    run: (session, argv) => store(session, argv[1]!, difference(session, argv, 2), 'sdiffstore'),
    countsReads: true,
    syntax: 'destination key [key ...]',
    summary: 'Stores the members of the first set that no other has',
    since: '1.0.0',
    complexity: EVERY_MEMBER_COST,
  },
  SSCAN: {
    arity: -3,
    keys: [oneKey('RO access')],
    flags: READ_ALL,
    run: sscan,
    syntax: 'key cursor [MATCH pattern] [COUNT count]',
    summary: 'Iterates over the members in steps',
    since: '2.8.0',
    complexity: 'O(1) for a step, O(N) for an iteration over N members',
    tips: ['nondeterministic_output'],
  },
} as const satisfies CommandTable;

/** The set at a key, for a command that writes: counts neither as a hit nor as a miss. */
function setToChange({ database }: Session, key: string): SetValue | undefined {
  const value = database.peek(key);
  if (value === undefined || value instanceof SetValue) return value;
  throw WRONG_TYPE;
}

function createSet({ database, engine }: Session, key: string): SetValue {
  const set = new SetValue(engine.journal);
  database.set(key, set);
  return set;
}

function changed({ database }: Session, event: string, key: string): void {
  database.changed(key);
  database.notify('set', event, key);
}

function sadd(session: Session, argv: readonly string[]): Reply {
  const key = argv[1]!;
  const set = setToChange(session, key) ?? createSet(session, key);
  let added = 0;
  for (let at = 2; at < argv.length; at++) if (set.add(argv[at]!)) added++;
  if (added > 0) changed(session, 'sadd', key);
  return added;
}

function srem(session: Session, argv: readonly string[]): Reply {
  const key = argv[1]!;
  const set = setToChange(session, key);
  if (set === undefined) return 0;
  let removed = 0;
  for (let at = 2; at < argv.length; at++) if (set.delete(argv[at]!)) removed++;
  if (removed === 0) return 0;
  changed(session, 'srem', key);
  session.database.deleteIfEmpty(key, set);
  return removed;
}

function smismember(session: Session, argv: readonly string[]): Reply {
  const set = session.database.setOf(argv[1]!);
  const found: number[] = [];
  for (let at = 2; at < argv.length; at++) found.push(set?.has(argv[at]!) ? 1 : 0);
  return found;
}

function spop(session: Session, argv: readonly string[]): Reply {
  if (argv.length === 3) return spopCount(session, argv);
  if (argv.length > 3) throw SYNTAX_ERROR;
  const key = argv[1]!;
  const set = setToChange(session, key);
  if (set === undefined) return null;
  const member = set.popRandom(session.engine.random);
  changed(session, 'spop', key);
  session.database.deleteIfEmpty(key, set);
  return member;
}

function spopCount(session: Session, argv: readonly string[]): Reply {
  const count = integerArgument(argv[2]!, NOT_POSITIVE);
  if (count < 0) throw NOT_POSITIVE;
  const key = argv[1]!;
  const set = setToChange(session, key);
  if (set === undefined || count === 0) return new SetReply([]);
  if (count >= set.size) {
    changed(session, 'spop', key);
    session.database.delete(key);
    session.database.notify('generic', 'del', key);
    return new SetReply(set.members());
  }
  const remaining = set.size - count;
  const popped =
    remaining * KEEP_FACTOR <= count
      ? popAllBut(session, key, set, remaining)
      : popMany(session, set, count);
  changed(session, 'spop', key);
  return new SetReply(popped);
}

/** If at least so many times more members are popped than stay, the ones that stay are chosen instead. */
const KEEP_FACTOR = 5;

function popMany({ engine }: Session, set: SetValue, count: number): string[] {
  return Array.from({ length: count }, () => set.popRandom(engine.random));
}

/** As in Redis, the remaining members form a new set, which may be an intset again. */
function popAllBut(session: Session, key: string, set: SetValue, count: number): string[] {
  const kept = setOfMembers(session.engine.journal, popMany(session, set, count));
  session.database.replace(key, kept);
  return set.members();
}

function srandmember({ database, engine }: Session, argv: readonly string[]): Reply {
  if (argv.length > 3) throw SYNTAX_ERROR;
  if (argv.length === 2) return database.setOf(argv[1]!)?.randomMember(engine.random) ?? null;
  const count = sampleCountArgument(argv[2]!);
  const set = database.setOf(argv[1]!);
  if (set === undefined) return [];
  if (count >= set.size) return set.members();
  return sampleSlots(set.size, count, engine.random).map((slot) => set.memberAt(slot));
}

function smove(session: Session, argv: readonly string[]): Reply {
  const [, from, to, member] = argv as [string, string, string, string];
  const { database } = session;
  if (!database.has(from)) return 0;
  const source = setToChange(session, from)!;
  const destination = setToChange(session, to);
  if (source === destination) return source.has(member) ? 1 : 0;
  if (!source.delete(member)) return 0;
  changed(session, 'srem', from);
  database.deleteIfEmpty(from, source);
  if ((destination ?? createSet(session, to)).add(member)) changed(session, 'sadd', to);
  return 1;
}

/** The sets of the keys from `begin` to `end`, without `end`; undefined for a key that does not exist. */
function setsAt(
  { database }: Session,
  argv: readonly string[],
  begin: number,
  end: number,
): (SetValue | undefined)[] {
  return argv.slice(begin, end).map((key) => database.setOf(key));
}

/**
 * The common members, at most `limit`: the members of the smallest set that all others have. Here and below, a set
 * that is named several times is read once, so that the work is bounded by the stored data.
 */
function intersection(
  operands: readonly (SetValue | undefined)[],
  limit = Number.POSITIVE_INFINITY,
): string[] {
  const common: string[] = [];
  if (operands.includes(undefined)) return common;
  const distinct = [...new Set(operands as SetValue[])];
  const [smallest, ...others] = distinct.toSorted((a, b) => a.size - b.size);
  for (const member of smallest!.members()) {
    if (common.length >= limit) break;
    if (others.every((other) => other.has(member))) common.push(member);
  }
  return common;
}

function sinterstore(session: Session, argv: readonly string[]): Reply {
  const operands = setsAt(session, argv, 2, argv.length);
  reserveFor(session, operands);
  const common = setOfMembers(session.engine.journal, intersection(operands));
  return store(session, argv[1]!, common, 'sinterstore');
}

function sintercard(session: Session, argv: readonly string[]): Reply {
  const count = integerArgument(argv[1]!, NO_KEYS_GIVEN);
  if (count < 1) throw NO_KEYS_GIVEN;
  if (count > argv.length - 2) throw TOO_MANY_KEYS;
  const limit = parseLimit(argv, 2 + count);
  return intersection(setsAt(session, argv, 2, 2 + count), limit || undefined).length;
}

function parseLimit(argv: readonly string[], begin: number): number {
  let limit = 0;
  for (let at = begin; at < argv.length; at += 2) {
    if (upper(argv[at]!) !== 'LIMIT' || at + 1 === argv.length) throw SYNTAX_ERROR;
    limit = integerArgument(argv[at + 1]!, NEGATIVE_LIMIT);
    if (limit < 0) throw NEGATIVE_LIMIT;
  }
  return limit;
}

function union(session: Session, argv: readonly string[], begin: number): SetValue {
  const operands = setsAt(session, argv, begin, argv.length);
  reserveFor(session, operands);
  const all = new SetValue(session.engine.journal);
  for (const set of new Set(operands)) for (const member of set?.members() ?? []) all.add(member);
  return all;
}

/** Checks that there is memory for the result, which is at most as large as all sets together. */
function reserveFor({ engine }: Session, operands: readonly (SetValue | undefined)[]): void {
  let bytes = 0;
  for (const set of new Set(operands)) bytes += set?.bytes ?? 0;
  engine.memory.reserve(bytes);
}

/**
 * Redis either removes members from a copy of the first set, or looks the members of the first set up in the others.
 * The copy of 513 integers is a hash table, and stays one after removals, so that the choice is visible in the
 * encoding. Redis counts a set as often as it is named when it chooses. The work here counts each set once.
 */
function difference(session: Session, argv: readonly string[], begin: number): SetValue {
  const { journal } = session.engine;
  const [first, ...rest] = setsAt(session, argv, begin, argv.length);
  reserveFor(session, [first]);
  if (first === undefined || rest.includes(first)) return new SetValue(journal);
  const named = rest.filter((set) => set !== undefined);
  const others = [...new Set(named)];
  if (copyingIsLessWork(first, named)) return copyWithout(first, others);
  const remaining = copyingIsLessWork(first, others)
    ? copyWithout(first, others).members()
    : membersWithout(first, others);
  return setOfMembers(journal, remaining);
}

/** Redis's estimate: half of the possible lookups, compared with the number of all members. */
function copyingIsLessWork(first: SetValue, others: readonly SetValue[]): boolean {
  const lookups = Math.floor((first.size * (others.length + 1)) / 2);
  return lookups > others.reduce((sum, { size }) => sum + size, first.size);
}

function copyWithout(first: SetValue, others: readonly SetValue[]): SetValue {
  const copy = setOfMembers(first.journal, first.members());
  for (const other of others) for (const member of other.members()) copy.delete(member);
  return copy;
}

function membersWithout(first: SetValue, others: readonly SetValue[]): string[] {
  const largestFirst = others.toSorted((a, b) => b.size - a.size);
  return first.members().filter((member) => !largestFirst.some((other) => other.has(member)));
}

function setOfMembers(journal: Journal, members: readonly string[]): SetValue {
  const set = new SetValue(journal);
  for (const member of members) set.add(member);
  return set;
}

/** Stores a result at the key. An empty one deletes the key. */
function store({ database }: Session, key: string, set: SetValue, event: string): number {
  if (set.size > 0) {
    database.set(key, set);
    database.notify('set', event, key);
  } else if (database.delete(key)) {
    database.notify('generic', 'del', key);
  }
  return set.size;
}

function sscan(session: Session, argv: readonly string[]): Reply {
  parseCursor(argv[2]!);
  const set = session.database.setOf(argv[1]!);
  if (set === undefined) return scanReply(0, []);
  const { cursor, count, admits } = scanArguments(argv, 2);
  const found: string[] = [];
  const next = set.scan(cursor, count, (member) => {
    if (admits(member)) found.push(member);
  });
  return scanReply(next, found);
}

const NO_KEYS_GIVEN = new ErrorReply('ERR numkeys should be greater than 0');
const TOO_MANY_KEYS = new ErrorReply("ERR Number of keys can't be greater than number of args");
const NEGATIVE_LIMIT = new ErrorReply("ERR LIMIT can't be negative");
