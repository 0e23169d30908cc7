import { ErrorReply, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { Dictionary } from '../dictionary.ts';
import { SYNTAX_ERROR, WRONG_TYPE } from '../errors.ts';
import { countedKeys, oneKey } from '../key-spec.ts';
import { floatArgument, integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { SetValue } from '../set-value.ts';
import { type Entries, SortedSetValue } from '../sorted-set-value.ts';
import { lower, upper } from '../text.ts';
import { scoredReply, storeResult } from './sorted-set-access.ts';

const COMBINE_SYNTAX =
  'numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE SUM|MIN|MAX]';
const READ = ['readonly', 'movablekeys'] as const;
const STORE = ['write', 'denyoom', 'movablekeys'] as const;

const UNION_COST = 'O(N)+O(M*log(M)) for N members in all the sets, M in the result';
const INTERSECTION_COST =
  'O(N*K)+O(M*log(M)) at worst, for K sets of which the smallest has N members, M in the result';
const DIFFERENCE_COST =
  'O(L+(N-K)*log(N)) at worst, for L members in all the sets, N in the first, K in the result';

export const sortedSetAlgebra = {
  ZUNION: {
    arity: -3,
    keys: [countedKeys(1, 'RO access')],
    flags: READ,
    run: (session, argv) => show(session, argv, union),
    syntax: `${COMBINE_SYNTAX} [WITHSCORES]`,
    summary: 'Returns the members of all the sets with their scores combined',
    since: '6.2.0',
    complexity: UNION_COST,
  },
  ZUNIONSTORE: {
    arity: -4,
    keys: [oneKey('OW update'), countedKeys(2, 'RO access')],
    flags: STORE,
    run: (session, argv) => store(session, argv, union),
    countsReads: true,
    syntax: `destination ${COMBINE_SYNTAX}`,
    summary: 'Stores the members of all the sets with their scores combined',
    since: '2.0.0',
    complexity: UNION_COST,
  },
  ZINTER: {
    arity: -3,
    keys: [countedKeys(1, 'RO access')],
    flags: READ,
    run: (session, argv) => show(session, argv, intersection),
    syntax: `${COMBINE_SYNTAX} [WITHSCORES]`,
    summary: 'Returns the members that all the sets share with their scores combined',
    since: '6.2.0',
    complexity: INTERSECTION_COST,
  },
  ZINTERSTORE: {
    arity: -4,
    keys: [oneKey('OW update'), countedKeys(2, 'RO access')],
    flags: STORE,
    run: (session, argv) => store(session, argv, intersection),
    countsReads: true,
    syntax: `destination ${COMBINE_SYNTAX}`,
    summary: 'Stores the members that all the sets share with their scores combined',
    since: '2.0.0',
    complexity: INTERSECTION_COST,
  },
  ZINTERCARD: {
    arity: -3,
    keys: [countedKeys(1, 'RO access')],
    flags: READ,
    run: intersectionSize,
    syntax: 'numkeys key [key ...] [LIMIT limit]',
    summary: 'Returns how many members all the sets share',
    since: '7.0.0',
    complexity: 'O(N*K) at worst, for K sets of which the smallest has N members',
  },
  ZDIFF: {
    arity: -3,
    keys: [countedKeys(1, 'RO access')],
    flags: READ,
    run: (session, argv) => show(session, argv, difference),
    syntax: 'numkeys key [key ...] [WITHSCORES]',
    summary: 'Returns the members of the first set that no other has',
    since: '6.2.0',
    complexity: DIFFERENCE_COST,
  },
  ZDIFFSTORE: {
    arity: -4,
    keys: [oneKey('OW update'), countedKeys(2, 'RO access')],
    flags: STORE,
    run: (session, argv) => store(session, argv, difference),
    countsReads: true,
    syntax: 'destination numkeys key [key ...]',
    summary: 'Stores the members of the first set that no other has',
    since: '6.2.0',
    complexity: DIFFERENCE_COST,
  },
} as const satisfies CommandTable;

/** Combines the scores of a member in two sets. */
type Aggregate = (score: number, other: number) => number;

/** As in Redis, the sum of inf and -inf is 0, and any score wins against NaN. */
const AGGREGATES = {
  SUM: (score, other) => notNaN(score + other),
  // Not Math.min and Math.max, which prefer NaN and distinguish 0 from -0.
  MIN: (score, other) => (other < score ? other : score),
  MAX: (score, other) => (other > score ? other : score),
} as const satisfies Record<string, Aggregate>;

/** A set or sorted set, with the weight of its scores. */
interface Source {
  readonly value: SetValue | SortedSetValue | undefined;
  readonly size: number;
  weight: number;
}

interface Operands {
  readonly sources: Source[];
  aggregate: Aggregate;
  withScores: boolean;
  /** The LIMIT of ZINTERCARD. */
  limit: number;
}

/** Computes the members and scores of the result, in no order. */
type Combine = (operands: Operands) => Dictionary<number>;

function show(session: Session, argv: readonly string[], combine: Combine): Reply {
  const operands = parseOperands(session, argv, 1, combine === difference ? DIFF : COMBINED);
  const entries = sorted(combine(operands));
  return operands.withScores ? scoredReply(session, entries) : entries.members;
}

function store(session: Session, argv: readonly string[], combine: Combine): Reply {
  const allowed = combine === difference ? DIFF : COMBINED;
  const operands = parseOperands(session, argv, 2, allowed & ~OPTION_BITS.WITHSCORES);
  const entries = sorted(combine(operands));
  const value = new SortedSetValue(session.engine.journal);
  value.prepareFor(entries.members);
  return storeResult(session, lower(argv[0]!), argv[1]!, entries, value);
}

function intersectionSize(session: Session, argv: readonly string[]): Reply {
  const operands = parseOperands(session, argv, 1, OPTION_BITS.LIMIT);
  return intersection(operands).size;
}

/** The options that a command accepts. */
const OPTION_BITS = { WEIGHTS: 1, AGGREGATE: 2, WITHSCORES: 4, LIMIT: 8 } as const;
const COMBINED = OPTION_BITS.WEIGHTS | OPTION_BITS.AGGREGATE | OPTION_BITS.WITHSCORES;
const DIFF = OPTION_BITS.WITHSCORES;

/** As in Redis, the types of all keys are checked before the options are parsed. */
function parseOperands(
  session: Session,
  argv: readonly string[],
  countAt: number,
  allowed: number,
): Operands {
  const count = integerArgument(argv[countAt]!);
  if (count < 1) {
    const name = lower(argv[0]!);
    throw new ErrorReply(`ERR at least 1 input key is needed for '${name}' command`);
  }
  const end = countAt + 1 + count;
  if (end > argv.length) throw SYNTAX_ERROR;
  const operands: Operands = {
    sources: argv.slice(countAt + 1, end).map((key) => source(session, key)),
    aggregate: AGGREGATES.SUM,
    withScores: false,
    limit: 0,
  };
  for (let at = end; at < argv.length; ) at = parseOption(operands, argv, at, allowed);
  reserveFor(session, operands);
  return operands;
}

/** Checks that there is memory for the result, which is at most as large as all sets together. */
function reserveFor({ engine }: Session, { sources }: Operands): void {
  let bytes = 0;
  for (const value of new Set(sources.map((each) => each.value))) bytes += value?.bytes ?? 0;
  engine.memory.reserve(bytes);
}

function source({ database }: Session, key: string): Source {
  const value = database.get(key);
  if (value === undefined) return { value, size: 0, weight: 1 };
  if (!(value instanceof SortedSetValue || value instanceof SetValue)) throw WRONG_TYPE;
  return { value, size: value.size, weight: 1 };
}

/** Parses the option at `at`. Returns the position of the next one. */
function parseOption(
  operands: Operands,
  argv: readonly string[],
  at: number,
  allowed: number,
): number {
  const word = upper(argv[at]!);
  if (!(word in OPTION_BITS) || (allowed & OPTION_BITS[word as keyof typeof OPTION_BITS]) === 0)
    throw SYNTAX_ERROR;
  if (word === 'WITHSCORES') {
    operands.withScores = true;
    return at + 1;
  }
  const { sources } = operands;
  const operandCount = word === 'WEIGHTS' ? sources.length : 1;
  if (at + operandCount >= argv.length) throw SYNTAX_ERROR;
  if (word === 'LIMIT') operands.limit = parseLimit(argv[at + 1]!);
  else if (word === 'AGGREGATE') operands.aggregate = parseAggregate(argv[at + 1]!);
  else {
    for (const [index, each] of sources.entries()) {
      each.weight = floatArgument(argv[at + 1 + index]!, NOT_A_WEIGHT);
    }
  }
  return at + 1 + operandCount;
}

function parseLimit(text: string): number {
  const limit = integerArgument(text, NEGATIVE_LIMIT);
  if (limit < 0) throw NEGATIVE_LIMIT;
  return limit;
}

function parseAggregate(text: string): Aggregate {
  const word = upper(text);
  if (!(word in AGGREGATES)) throw SYNTAX_ERROR;
  return AGGREGATES[word as keyof typeof AGGREGATES];
}

/** Smallest set first, as in Redis: sums of floating point numbers depend on the order. */
function bySize(sources: readonly Source[]): Source[] {
  return sources.toSorted((a, b) => a.size - b.size);
}

/**
 * Throws if repeated keys cause too much work. Each occurrence of a key has its own weight and is read, so that the
 * stored data does not bound the work.
 */
function assertRepeatedWork(members: number): void {
  if (members > MAX_REPEATED_MEMBERS) throw TOO_OFTEN;
}

/** The sources without the first occurrence of each key. */
function repeated(sources: readonly Source[]): Source[] {
  const seen = new Set<Source['value']>();
  return sources.filter(({ value }) => seen.size === seen.add(value).size);
}

function union({ sources, aggregate }: Operands): Dictionary<number> {
  assertRepeatedWork(repeated(sources).reduce((sum, { size }) => sum + size, 0));
  const result = new Dictionary<number>();
  for (const each of bySize(sources)) {
    forEachEntry(each, (member, score) => {
      const weighted = notNaN(score * each.weight);
      const known = result.get(member);
      result.set(member, known === undefined ? weighted : aggregate(known, weighted));
      return true;
    });
  }
  return result;
}

function intersection({ sources, aggregate, limit }: Operands): Dictionary<number> {
  const result = new Dictionary<number>();
  const [smallest, ...others] = bySize(sources) as [Source, ...Source[]];
  assertRepeatedWork(smallest.size * repeated(sources).length);
  forEachEntry(smallest, (member, score) => {
    let combined = notNaN(score * smallest.weight);
    for (const other of others) {
      const otherScore = scoreIn(other, member);
      if (otherScore === undefined) return true;
      combined = aggregate(combined, otherScore * other.weight);
    }
    result.set(member, combined);
    return result.size !== limit;
  });
  return result;
}

function difference({ sources }: Operands): Dictionary<number> {
  const result = new Dictionary<number>();
  const [first, ...rest] = sources as [Source, ...Source[]];
  const others = [...new Set(rest.map(({ value }) => value))];
  if (first.value === undefined || others.includes(first.value)) return result;
  forEachEntry(first, (member, score) => {
    result.set(member, score);
    return true;
  });
  for (const value of others) removeMembers(result, value);
  return result;
}

/** Iterates over the smaller of the two. */
function removeMembers(result: Dictionary<number>, value: Source['value']): void {
  if (value === undefined) return;
  if (value.size < result.size) for (const member of value.members()) result.delete(member);
  else
    for (const member of [...result.names()]) if (hasMember(value, member)) result.delete(member);
}

function hasMember(value: SetValue | SortedSetValue, member: string): boolean {
  return value instanceof SortedSetValue ? value.score(member) !== undefined : value.has(member);
}

/** Visits the entries, in no order, until `visit` returns false. The scores of a plain set are 1. */
function forEachEntry({ value }: Source, visit: (member: string, score: number) => boolean): void {
  if (value === undefined) return;
  const members = value.members();
  const scores = value instanceof SortedSetValue ? value.scores() : undefined;
  for (let at = 0; at < members.length; at++) {
    if (!visit(members[at]!, scores === undefined ? 1 : scores[at]!)) return;
  }
}

function scoreIn({ value }: Source, member: string): number | undefined {
  if (value instanceof SortedSetValue) return value.score(member);
  return value?.has(member) ? 1 : undefined;
}

/** Sorts indexes instead of pairs, which would need an object per member. */
function sorted(result: Dictionary<number>): Entries {
  const members = result.names();
  const scores = result.values();
  const places = Uint32Array.from(members, (_, place) => place).sort(
    (a, b) => scores[a]! - scores[b]! || (members[a]! < members[b]! ? -1 : 1),
  );
  return {
    members: Array.from(places, (place) => members[place]!),
    scores: Array.from(places, (place) => scores[place]!),
  };
}

function notNaN(score: number): number {
  return Number.isNaN(score) ? 0 : score;
}

const MAX_REPEATED_MEMBERS = 2 ** 22;
const TOO_OFTEN = new ErrorReply('ERR a large key is named too many times');
const NOT_A_WEIGHT = new ErrorReply('ERR weight value is not a float');
const NEGATIVE_LIMIT = new ErrorReply("ERR LIMIT can't be negative");
