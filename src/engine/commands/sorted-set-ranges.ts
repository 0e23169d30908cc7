import { ErrorReply, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { oneKey } from '../key-spec.ts';
import { integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { lexCuts, scoreCuts } from '../sorted-set-bounds.ts';
import type { Entries, SortedSetValue, Span } from '../sorted-set-value.ts';
import { upper } from '../text.ts';
import {
  membersLeft,
  reversed,
  scoredReply,
  sortedSetToChange,
  storeResult,
} from './sorted-set-access.ts';

const LIMITED_COST = 'O(log(N)+M) for M of N members; O(log(N)) if LIMIT keeps M constant';
const REMOVAL_COST = 'O(log(N)+M) for M removed of N members';

export const sortedSetRanges = {
  ZRANGE: {
    arity: -4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: (session, argv) => range(session, argv, {}),
    syntax: 'key start stop [BYSCORE|BYLEX] [REV] [LIMIT offset count] [WITHSCORES]',
    summary: 'Returns a range of members by rank, by score or by their bytes',
    since: '1.2.0',
    complexity: 'O(log(N)+M) for M of N members',
    history: [['6.2.0', 'Options BYSCORE, BYLEX, REV and LIMIT']],
  },
  ZRANGESTORE: {
    arity: -5,
    keys: [oneKey('OW update'), oneKey('RO access', 2)],
    flags: ['write', 'denyoom'],
    run: rangeStore,
    countsReads: true,
    syntax: 'dst src min max [BYSCORE|BYLEX] [REV] [LIMIT offset count]',
    summary: 'Stores a range of members in another key',
    since: '6.2.0',
    complexity: 'O(log(N)+M) for M stored of N members',
  },
  ZREVRANGE: {
    arity: -4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: (session, argv) => range(session, argv, { by: 'rank', isReverse: true }),
    syntax: 'key start stop [WITHSCORES]',
    summary: 'Returns a range of members by rank, from the highest score down',
    since: '1.2.0',
    complexity: 'O(log(N)+M) for M of N members',
    deprecated: { since: '6.2.0', replacedBy: '`ZRANGE` with `REV`' },
  },
  ZRANGEBYSCORE: {
    arity: -4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: (session, argv) => range(session, argv, { by: 'score', isReverse: false }),
    syntax: 'key min max [WITHSCORES] [LIMIT offset count]',
    summary: 'Returns a range of members by score',
    since: '1.0.5',
    complexity: LIMITED_COST,
    history: [['2.0.0', 'Option WITHSCORES']],
    deprecated: { since: '6.2.0', replacedBy: '`ZRANGE` with `BYSCORE`' },
  },
  ZREVRANGEBYSCORE: {
    arity: -4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: (session, argv) => range(session, argv, { by: 'score', isReverse: true }),
    syntax: 'key max min [WITHSCORES] [LIMIT offset count]',
    summary: 'Returns a range of members by score, from the highest down',
    since: '2.2.0',
    complexity: LIMITED_COST,
    history: [['2.1.6', 'A bound may be exclusive']],
    deprecated: { since: '6.2.0', replacedBy: '`ZRANGE` with `BYSCORE` and `REV`' },
  },
  ZRANGEBYLEX: {
    arity: -4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: (session, argv) => range(session, argv, { by: 'lex', isReverse: false }),
    syntax: 'key min max [LIMIT offset count]',
    summary: 'Returns a range of members of equal score by their bytes',
    since: '2.8.9',
    complexity: LIMITED_COST,
    deprecated: { since: '6.2.0', replacedBy: '`ZRANGE` with `BYLEX`' },
  },
  ZREVRANGEBYLEX: {
    arity: -4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: (session, argv) => range(session, argv, { by: 'lex', isReverse: true }),
    syntax: 'key max min [LIMIT offset count]',
    summary: 'Returns a range of members of equal score by their bytes, from the last back',
    since: '2.8.9',
    complexity: LIMITED_COST,
    deprecated: { since: '6.2.0', replacedBy: '`ZRANGE` with `BYLEX` and `REV`' },
  },
  ZCOUNT: {
    arity: 4,
    keys: [oneKey('RO access')],
    flags: ['readonly', 'fast'],
    run: (session, argv) => count(session, argv, 'score'),
    syntax: 'key min max',
    summary: 'Returns how many members have scores in a range',
    since: '2.0.0',
    complexity: 'O(log(N)) for N members in the set',
  },
  ZLEXCOUNT: {
    arity: 4,
    keys: [oneKey('RO access')],
    flags: ['readonly', 'fast'],
    run: (session, argv) => count(session, argv, 'lex'),
    syntax: 'key min max',
    summary: 'Returns how many members of equal score are in a range by their bytes',
    since: '2.8.9',
    complexity: 'O(log(N)) for N members in the set',
  },
  ZREMRANGEBYRANK: {
    arity: 4,
    keys: [oneKey('RW delete')],
    flags: ['write'],
    run: (session, argv) => removeRange(session, argv, 'rank'),
    syntax: 'key start stop',
    summary: 'Removes a range of members by rank',
    since: '2.0.0',
    complexity: REMOVAL_COST,
  },
  ZREMRANGEBYSCORE: {
    arity: 4,
    keys: [oneKey('RW delete')],
    flags: ['write'],
    run: (session, argv) => removeRange(session, argv, 'score'),
    syntax: 'key min max',
    summary: 'Removes a range of members by score',
    since: '1.2.0',
    complexity: REMOVAL_COST,
  },
  ZREMRANGEBYLEX: {
    arity: 4,
    keys: [oneKey('RW delete')],
    flags: ['write'],
    run: (session, argv) => removeRange(session, argv, 'lex'),
    syntax: 'key min max',
    summary: 'Removes a range of members of equal score by their bytes',
    since: '2.8.9',
    complexity: REMOVAL_COST,
  },
} as const satisfies CommandTable;

type Measure = 'rank' | 'score' | 'lex';

/** The options that a command's name implies. ZRANGE accepts the others. */
interface Given {
  readonly by?: Measure;
  readonly isReverse?: boolean;
}

interface RangeOptions {
  by: Measure | undefined;
  isReverse: boolean | undefined;
  withScores: boolean;
  limit: { readonly offset: number; readonly count: number } | undefined;
}

/** Finds the ranks of a range in a sorted set, without the first `skip`. */
type Locate = (value: SortedSetValue, skip: number) => Span;

function range(session: Session, argv: readonly string[], given: Given): Reply {
  const options = parseOptions(argv, 4, given, true);
  const locate = parseRange(options, argv[2]!, argv[3]!);
  const value = session.database.sortedSet(argv[1]!);
  if (value === undefined) return [];
  const entries = select(value, locate, options);
  return options.withScores ? scoredReply(session, entries) : entries.members;
}

function rangeStore(session: Session, argv: readonly string[]): Reply {
  const options = parseOptions(argv, 5, {}, false);
  const locate = parseRange(options, argv[3]!, argv[4]!);
  const value = session.database.sortedSet(argv[2]!);
  const entries = value === undefined ? NO_ENTRIES : select(value, locate, options);
  const share = value === undefined ? 0 : entries.members.length / value.size;
  session.engine.memory.reserve(share * (value?.bytes ?? 0));
  return storeResult(session, 'zrangestore', argv[1]!, entries);
}

function count({ database }: Session, argv: readonly string[], by: Measure): Reply {
  const locate = locator(by, argv[2]!, argv[3]!, false);
  const value = database.sortedSet(argv[1]!);
  if (value === undefined) return 0;
  const { from, to } = locate(value, 0);
  return Math.max(to - from, 0);
}

function removeRange(session: Session, argv: readonly string[], by: Measure): Reply {
  const locate = locator(by, argv[2]!, argv[3]!, false);
  const key = argv[1]!;
  const value = sortedSetToChange(session, key);
  if (value === undefined) return 0;
  const { from, to } = locate(value, 0);
  const { members } = value.range(from, to);
  for (let at = 0; at < members.length; at++) value.delete(members[at]!);
  if (members.length > 0) membersLeft(session, `zremrangeby${by}`, key, value);
  return members.length;
}

function parseOptions(
  argv: readonly string[],
  begin: number,
  given: Given,
  mayShowScores: boolean,
): RangeOptions {
  const options: RangeOptions = {
    by: given.by,
    isReverse: given.isReverse,
    withScores: false,
    limit: undefined,
  };
  for (let at = begin; at < argv.length; at++) {
    const word = upper(argv[at]!);
    if (word === 'WITHSCORES' && mayShowScores) options.withScores = true;
    else if (word === 'LIMIT' && at + 2 < argv.length) {
      options.limit = { offset: integerArgument(argv[++at]!), count: integerArgument(argv[++at]!) };
    } else if (word === 'REV' && options.isReverse === undefined) options.isReverse = true;
    else if (word === 'BYSCORE' && options.by === undefined) options.by = 'score';
    else if (word === 'BYLEX' && options.by === undefined) options.by = 'lex';
    else throw SYNTAX_ERROR;
  }
  // As in Redis, a count of -1 means no LIMIT, also where LIMIT is not allowed.
  if (options.by === undefined && options.limit?.count === -1) options.limit = undefined;
  assertCompatible(options);
  return options;
}

function assertCompatible({ by = 'rank', limit, withScores }: RangeOptions): void {
  if (limit !== undefined && by === 'rank') {
    throw new ErrorReply(
      'ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX',
    );
  }
  if (withScores && by === 'lex') {
    throw new ErrorReply('ERR syntax error, WITHSCORES not supported in combination with BYLEX');
  }
}

/** A reverse range by score or member has its upper bound first. */
function parseRange(
  { by = 'rank', isReverse = false }: RangeOptions,
  a: string,
  b: string,
): Locate {
  return isReverse && by !== 'rank' ? locator(by, b, a, true) : locator(by, a, b, isReverse);
}

function locator(by: Measure, min: string, max: string, isReverse: boolean): Locate {
  switch (by) {
    case 'rank': {
      const start = integerArgument(min);
      const stop = integerArgument(max);
      return ({ size }) => rankSpan(size, start, stop, isReverse);
    }
    case 'score': {
      const cuts = scoreCuts(min, max);
      return (value, skip) => value.scoreSpan(cuts, skip, isReverse);
    }
    case 'lex': {
      const cuts = lexCuts(min, max);
      return (value, skip) => value.lexSpan(cuts, skip, isReverse);
    }
  }
}

/** Converts two inclusive ranks, which are relative to the end if negative. */
function rankSpan(size: number, start: number, stop: number, isReverse: boolean): Span {
  const first = Math.max(start < 0 ? start + size : start, 0);
  const last = Math.min(stop < 0 ? stop + size : stop, size - 1);
  if (first > last) return { from: 0, to: 0 };
  return isReverse ? { from: size - 1 - last, to: size - first } : { from: first, to: last + 1 };
}

function select(value: SortedSetValue, locate: Locate, options: RangeOptions): Entries {
  const { limit, isReverse } = options;
  const skip = limit?.offset ?? 0;
  if (skip < 0) return NO_ENTRIES;
  let { from, to } = locate(value, skip);
  if (limit !== undefined && limit.count >= 0) {
    if (isReverse) from = Math.max(from, to - limit.count);
    else to = Math.min(to, from + limit.count);
  }
  const entries = value.range(from, to);
  return isReverse ? reversed(entries) : entries;
}

const NO_ENTRIES: Entries = { members: [], scores: [] };
