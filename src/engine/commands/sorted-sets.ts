import { ErrorReply, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { oneKey } from '../key-spec.ts';
import { floatArgument, formatFloat64 } from '../number.ts';
import { sampleCountArgument, sampleSlots } from '../random-sample.ts';
import { parseCursor, scanArguments, scanReply } from '../scan-arguments.ts';
import type { Session } from '../session.ts';
import { type Entries, SortedSetValue } from '../sorted-set-value.ts';
import { upper } from '../text.ts';
import {
  membersLeft,
  reversed,
  scoredReply,
  scoreReply,
  sortedSetToChange,
} from './sorted-set-access.ts';
import { sortedSetAlgebra } from './sorted-set-algebra.ts';
import { sortedSetPops } from './sorted-set-pops.ts';
import { sortedSetRanges } from './sorted-set-ranges.ts';

const READ = ['readonly', 'fast'] as const;
const ADD = ['write', 'denyoom', 'fast'] as const;

const sortedSetMembers = {
  ZADD: {
    arity: -4,
    keys: [oneKey('RW update')],
    flags: ADD,
    run: (session, argv) => add(session, argv, new AddOptions()),
    syntax: 'key [NX|XX] [GT|LT] [CH] [INCR] score member [score member ...]',
    summary: 'Adds members with scores, or changes the scores of existing members',
    since: '1.2.0',
    complexity: 'O(log(N)) for each member, with N members in the set',
    history: [
      ['2.4.0', 'Accepts several members'],
      ['3.0.2', 'Options NX, XX, CH and INCR'],
      ['6.2.0', 'Options GT and LT'],
    ],
  },
  ZINCRBY: {
    arity: 4,
    keys: [oneKey('RW access update')],
    flags: ADD,
    run: (session, argv) => add(session, argv, new AddOptions('increments')),
    syntax: 'key increment member',
    summary: 'Adds to the score of a member',
    since: '1.2.0',
    complexity: 'O(log(N)) for N members in the set',
  },
  ZREM: {
    arity: -3,
    keys: [oneKey('RW delete')],
    flags: ['write', 'fast'],
    run: remove,
    syntax: 'key member [member ...]',
    summary: 'Removes members',
    since: '1.2.0',
    complexity: 'O(M*log(N)) for M of N members',
    history: [['2.4.0', 'Accepts several members']],
  },
  ZCARD: {
    arity: 2,
    keys: [oneKey('RO')],
    flags: READ,
    run: ({ database }, argv) => database.sortedSet(argv[1]!)?.size ?? 0,
    syntax: 'key',
    summary: 'Returns the number of members',
    since: '1.2.0',
    complexity: 'O(1)',
  },
  ZSCORE: {
    arity: 3,
    keys: [oneKey('RO access')],
    flags: READ,
    run: ({ database }, argv) => scoreOrNull(database.sortedSet(argv[1]!), argv[2]!),
    syntax: 'key member',
    summary: 'Returns the score of a member',
    since: '1.2.0',
    complexity: 'O(1)',
  },
  ZMSCORE: {
    arity: -3,
    keys: [oneKey('RO access')],
    flags: READ,
    run: scores,
    syntax: 'key member [member ...]',
    summary: 'Returns the scores of several members',
    since: '6.2.0',
    complexity: 'O(N) for N members',
  },
  ZRANK: {
    arity: 3,
    keys: [oneKey('RO access')],
    flags: READ,
    run: ({ database }, argv) => database.sortedSet(argv[1]!)?.rank(argv[2]!) ?? null,
    syntax: 'key member',
    summary: 'Returns the rank of a member, from the lowest score up',
    since: '2.0.0',
    complexity: 'O(log(N)) for N members in the set',
  },
  ZREVRANK: {
    arity: 3,
    keys: [oneKey('RO access')],
    flags: READ,
    run: reverseRank,
    syntax: 'key member',
    summary: 'Returns the rank of a member, from the highest score down',
    since: '2.0.0',
    complexity: 'O(log(N)) for N members in the set',
  },
  ZRANDMEMBER: {
    arity: -2,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: randomMember,
    syntax: 'key [count [WITHSCORES]]',
    summary: 'Returns random members; with a negative count they may repeat',
    since: '6.2.0',
    complexity: 'O(N) for N returned members',
    tips: ['nondeterministic_output'],
  },
  ZSCAN: {
    arity: -3,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: scan,
    syntax: 'key cursor [MATCH pattern] [COUNT count]',
    summary: 'Iterates over members and scores in steps',
    since: '2.8.0',
    complexity: 'O(1) for a step, O(N) for a whole walk through N members',
    tips: ['nondeterministic_output'],
  },
} as const satisfies CommandTable;

export const sortedSets = {
  ...sortedSetMembers,
  ...sortedSetRanges,
  ...sortedSetPops,
  ...sortedSetAlgebra,
} as const satisfies CommandTable;

/** The options of ZADD. */
class AddOptions {
  /** Only add new members. */
  NX = false;
  /** Only change existing members. */
  XX = false;
  /** Only change to greater scores. */
  GT = false;
  /** Only change to lower scores. */
  LT = false;
  /** Count changed members too. */
  CH = false;
  /** Add to the score and return it. */
  INCR: boolean;

  constructor(mode?: 'increments') {
    this.INCR = mode === 'increments';
  }
}

const NOT_A_SCORE = new ErrorReply('ERR resulting score is not a number (NaN)');

function add(session: Session, argv: readonly string[], options: AddOptions): Reply {
  const begin = parseAddOptions(argv, options);
  assertCompatible(options, argv.length - begin);
  const pairs = parsePairs(argv, begin);
  const key = argv[1]!;
  const existing = sortedSetToChange(session, key);
  if (existing === undefined && options.XX) return options.INCR ? null : 0;
  const value = existing ?? new SortedSetValue(session.engine.journal);
  const changes = new Changes();
  for (let at = 0; at < pairs.scores.length; at++) {
    addOne(value, pairs.members[at]!, pairs.scores[at]!, options, changes);
  }
  publish(session, key, value, existing === undefined, changes, options.INCR ? 'zincr' : 'zadd');
  if (options.INCR) return changes.score === undefined ? null : scoreReply(changes.score);
  return options.CH ? changes.added + changes.updated : changes.added;
}

/** Returns the position of the first score. */
function parseAddOptions(argv: readonly string[], options: AddOptions): number {
  let at = 2;
  for (; at < argv.length; at++) {
    const word = upper(argv[at]!);
    if (!isAddOption(word)) break;
    options[word] = true;
  }
  return at;
}

function isAddOption(word: string): word is keyof AddOptions {
  switch (word) {
    case 'NX':
    case 'XX':
    case 'GT':
    case 'LT':
    case 'CH':
    case 'INCR':
      return true;
  }
  return false;
}

function assertCompatible({ NX, XX, GT, LT, INCR }: AddOptions, words: number): void {
  if (words === 0 || words % 2 !== 0) throw SYNTAX_ERROR;
  if (NX && XX) {
    throw new ErrorReply('ERR XX and NX options at the same time are not compatible');
  }
  if ((GT && (NX || LT)) || (LT && NX)) {
    throw new ErrorReply('ERR GT, LT, and/or NX options at the same time are not compatible');
  }
  if (INCR && words > 2) {
    throw new ErrorReply('ERR INCR option supports a single increment-element pair');
  }
}

/** Parses all scores before the first is used, so that a bad one changes nothing. */
function parsePairs(argv: readonly string[], begin: number): Entries {
  const pairs: Entries = { members: [], scores: [] };
  for (let at = begin; at < argv.length; at += 2) {
    pairs.scores.push(floatArgument(argv[at]!));
    pairs.members.push(argv[at + 1]!);
  }
  return pairs;
}

/** The result of the pairs of a ZADD. */
class Changes {
  added = 0;
  updated = 0;
  /** The new score of the last pair; undefined if an option excluded it. */
  score: number | undefined;
}

function addOne(
  value: SortedSetValue,
  member: string,
  operand: number,
  { NX, XX, GT, LT, INCR }: AddOptions,
  changes: Changes,
): void {
  const current = value.score(member);
  if (current === undefined ? XX : NX) return;
  if (current === undefined) {
    value.set(member, operand);
    changes.added++;
    changes.score = operand;
    return;
  }
  const score = INCR ? current + operand : operand;
  if (Number.isNaN(score)) throw NOT_A_SCORE;
  if ((GT && score <= current) || (LT && score >= current)) return;
  changes.score = score;
  if (score === current) return;
  value.set(member, score);
  changes.updated++;
}

function publish(
  { database }: Session,
  key: string,
  value: SortedSetValue,
  isNew: boolean,
  { added, updated }: Changes,
  event: string,
): void {
  if (added + updated === 0) return;
  if (isNew) database.set(key, value);
  else database.changed(key);
  database.notify('zset', event, key);
}

function remove(session: Session, argv: readonly string[]): Reply {
  const key = argv[1]!;
  const value = sortedSetToChange(session, key);
  if (value === undefined) return 0;
  let removed = 0;
  for (let at = 2; at < argv.length; at++) {
    if (value.delete(argv[at]!) !== undefined) removed++;
  }
  if (removed > 0) membersLeft(session, 'zrem', key, value);
  return removed;
}

function scoreOrNull(value: SortedSetValue | undefined, member: string): Reply {
  const score = value?.score(member);
  return score === undefined ? null : scoreReply(score);
}

function scores({ database }: Session, argv: readonly string[]): Reply {
  const value = database.sortedSet(argv[1]!);
  return argv.slice(2).map((member) => scoreOrNull(value, member));
}

function reverseRank({ database }: Session, argv: readonly string[]): Reply {
  const value = database.sortedSet(argv[1]!);
  const rank = value?.rank(argv[2]!);
  return value === undefined || rank === undefined ? null : value.size - 1 - rank;
}

function randomMember(session: Session, argv: readonly string[]): Reply {
  const { database, engine } = session;
  if (argv.length === 2) {
    const value = database.sortedSet(argv[1]!);
    return value === undefined ? null : value.members()[value.randomSlot(engine.random)]!;
  }
  const { count, withScores } = parseRandomArguments(argv);
  const value = database.sortedSet(argv[1]!);
  if (value === undefined) return [];
  const entries = randomEntries(session, value, count);
  return withScores ? scoredReply(session, entries) : entries.members;
}

function parseRandomArguments(argv: readonly string[]): { count: number; withScores: boolean } {
  const count = sampleCountArgument(argv[2]!);
  const withScores = argv.length > 3;
  if (argv.length > 4 || (withScores && upper(argv[3]!) !== 'WITHSCORES')) throw SYNTAX_ERROR;
  // As in Redis: the number of elements, twice the count, must fit into 64 bits.
  if (withScores && Math.abs(count) >= 2 ** 62) throw new ErrorReply('ERR value is out of range');
  return { count, withScores };
}

function randomEntries({ engine }: Session, value: SortedSetValue, count: number): Entries {
  if (count >= value.size) return reversed(value.range(0, value.size));
  const slots = sampleSlots(value.size, count, engine.random);
  const members = value.members();
  const scores = value.scores();
  return {
    members: slots.map((slot) => members[slot]!),
    scores: slots.map((slot) => scores[slot]!),
  };
}

function scan({ database }: Session, argv: readonly string[]): Reply {
  parseCursor(argv[2]!);
  const value = database.sortedSet(argv[1]!);
  if (value === undefined) return scanReply(0, []);
  const { cursor, count, admits } = scanArguments(argv, 2);
  const found: string[] = [];
  if (value.encoding === 'listpack') {
    const entries = value.range(0, value.size);
    for (const [at, member] of entries.members.entries()) {
      if (admits(member)) found.push(member, formatListpackScore(entries.scores[at]!));
    }
    return scanReply(0, found);
  }
  const members = value.members();
  const scores = value.scores();
  const next = value.scan(cursor, count, (slot) => {
    if (admits(members[slot]!)) found.push(members[slot]!, formatFloat64(scores[slot]!));
  });
  return scanReply(next, found);
}

/** A listpack stores integers up to 2^62 as integers, and ZSCAN returns the stored form. */
function formatListpackScore(score: number): string {
  const isKept = Number.isInteger(score) && Math.abs(score) <= 2 ** 62;
  return isKept ? String(BigInt(score)) : formatFloat64(score);
}
