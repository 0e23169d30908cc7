import { ErrorReply, NULL_ARRAY, type Reply } from '../../resp/index.ts';
import type { CommandTable, Outcome } from '../command.ts';
import { NOT_POSITIVE, SYNTAX_ERROR } from '../errors.ts';
import { countedKeys, keysUpTo, oneKey } from '../key-spec.ts';
import { integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { type Entries, SortedSetValue } from '../sorted-set-value.ts';
import { upper } from '../text.ts';
import { timeoutArgument } from '../time-argument.ts';
import {
  membersLeft,
  pairReply,
  reversed,
  scoredReply,
  scoreReply,
  sortedSetToChange,
} from './sorted-set-access.ts';

export const sortedSetPops = {
  ZPOPMIN: {
    arity: -2,
    keys: [oneKey('RW access delete')],
    flags: ['write', 'fast'],
    run: (session, argv) => popFromOne(session, argv, 'min'),
    syntax: 'key [count]',
    summary: 'Removes and returns the members with the lowest scores',
    since: '5.0.0',
    complexity: 'O(log(N)*M) for M popped of N members',
  },
  ZPOPMAX: {
    arity: -2,
    keys: [oneKey('RW access delete')],
    flags: ['write', 'fast'],
    run: (session, argv) => popFromOne(session, argv, 'max'),
    syntax: 'key [count]',
    summary: 'Removes and returns the members with the highest scores',
    since: '5.0.0',
    complexity: 'O(log(N)*M) for M popped of N members',
  },
  ZMPOP: {
    arity: -4,
    keys: [countedKeys(1, 'RW access delete')],
    flags: ['write', 'movablekeys'],
    run: popFromFirst,
    syntax: 'numkeys key [key ...] MIN|MAX [COUNT count]',
    summary: 'Removes and returns members of the first sorted set that is not empty',
    since: '7.0.0',
    complexity: 'O(K)+O(M*log(N)) for K keys and M popped of N members',
  },
  BZPOPMIN: {
    arity: -3,
    keys: [keysUpTo(-2, 'RW access delete')],
    flags: ['write', 'noscript', 'blocking', 'fast'],
    run: (session, argv) => waitForOne(session, argv, 'min'),
    syntax: 'key [key ...] timeout',
    summary: 'Removes and returns the member with the lowest score, or blocks until there is one',
    since: '5.0.0',
    complexity: 'O(log(N)) for N members in the set',
    history: [['6.0.0', 'The timeout may be a fraction of a second']],
  },
  BZPOPMAX: {
    arity: -3,
    keys: [keysUpTo(-2, 'RW access delete')],
    flags: ['write', 'noscript', 'blocking', 'fast'],
    run: (session, argv) => waitForOne(session, argv, 'max'),
    syntax: 'key [key ...] timeout',
    summary: 'Removes and returns the member with the highest score, or blocks until there is one',
    since: '5.0.0',
    complexity: 'O(log(N)) for N members in the set',
    history: [['6.0.0', 'The timeout may be a fraction of a second']],
  },
  BZMPOP: {
    arity: -5,
    keys: [countedKeys(2, 'RW access delete')],
    flags: ['write', 'blocking', 'movablekeys'],
    run: waitForSome,
    syntax: 'timeout numkeys key [key ...] MIN|MAX [COUNT count]',
    summary:
      'Removes and returns members of the first sorted set that is not empty, or blocks until there is one',
    since: '7.0.0',
    complexity: 'O(K)+O(M*log(N)) for K keys and M popped of N members',
  },
} as const satisfies CommandTable;

type End = 'min' | 'max';

/** Builds the reply for the entries that were popped from `key`. */
type Show = (key: string, entries: Entries) => Reply;

function popFromOne(session: Session, argv: readonly string[], end: End): Reply {
  if (argv.length > 3) throw SYNTAX_ERROR;
  const count = argv.length === 3 ? integerArgument(argv[2]!, NOT_POSITIVE) : 1;
  if (count < 0) throw NOT_POSITIVE;
  const key = argv[1]!;
  const value = sortedSetToChange(session, key);
  if (value === undefined || count === 0) return [];
  const entries = pop(session, key, value, end, count);
  // Without a count the reply is one flat pair, also in RESP3.
  if (argv.length === 2) return pairReply(entries.members[0]!, entries.scores[0]!);
  return scoredReply(session, entries);
}

function popFromFirst(session: Session, argv: readonly string[]): Reply {
  const { keys, end, count } = parseManyPop(argv, 1);
  return popAny(session, keys, end, count, showNested) ?? NULL_ARRAY;
}

function waitForOne(session: Session, argv: readonly string[], end: End): Outcome {
  const timeoutMs = timeoutArgument(argv[argv.length - 1]!);
  return popOrWait(session, argv.slice(1, -1), end, 1, timeoutMs, showFlat);
}

function waitForSome(session: Session, argv: readonly string[]): Outcome {
  const { keys, end, count } = parseManyPop(argv, 2);
  return popOrWait(session, keys, end, count, timeoutArgument(argv[1]!), showNested);
}

function popOrWait(
  session: Session,
  keys: readonly string[],
  end: End,
  count: number,
  timeoutMs: number,
  show: Show,
): Outcome {
  const reply = popAny(session, keys, end, count, show);
  if (reply !== undefined) return reply;
  return session.engine.blocking.block(session, {
    keys,
    timeoutMs,
    timeoutReply: NULL_ARRAY,
    // A key of another type does not end the block.
    serve: (key) =>
      session.database.peek(key) instanceof SortedSetValue
        ? popAny(session, [key], end, count, show)
        : undefined,
  });
}

/** Pops from the first key that is a sorted set; undefined if there is none. */
function popAny(
  session: Session,
  keys: readonly string[],
  end: End,
  count: number,
  show: Show,
): Reply | undefined {
  for (const key of keys) {
    const value = sortedSetToChange(session, key);
    if (value !== undefined) return show(key, pop(session, key, value, end, count));
  }
  return undefined;
}

/** Pops entries: the lowest or highest score first. */
function pop(
  session: Session,
  key: string,
  value: SortedSetValue,
  end: End,
  count: number,
): Entries {
  const { size } = value;
  const entries =
    end === 'min' ? value.range(0, count) : reversed(value.range(Math.max(size - count, 0), size));
  for (let at = 0; at < entries.members.length; at++) value.delete(entries.members[at]!);
  membersLeft(session, `zpop${end}`, key, value);
  return entries;
}

function showFlat(key: string, { members, scores }: Entries): Reply {
  return [key, members[0]!, scoreReply(scores[0]!)];
}

function showNested(key: string, { members, scores }: Entries): Reply {
  return [key, members.map((member, at) => pairReply(member, scores[at]!))];
}

interface ManyPop {
  readonly keys: readonly string[];
  readonly end: End;
  readonly count: number;
}

/** Parses `numkeys key … MIN|MAX [COUNT count]` from `begin` on. */
function parseManyPop(argv: readonly string[], begin: number): ManyPop {
  const keyCount = integerArgument(argv[begin]!, NO_KEYS_COUNTED);
  if (keyCount < 1) throw NO_KEYS_COUNTED;
  const endAt = begin + 1 + keyCount;
  if (endAt >= argv.length) throw SYNTAX_ERROR;
  const end = upper(argv[endAt]!);
  if (end !== 'MIN' && end !== 'MAX') throw SYNTAX_ERROR;
  return {
    keys: argv.slice(begin + 1, endAt),
    end: end === 'MIN' ? 'min' : 'max',
    count: parsePopCount(argv, endAt + 1),
  };
}

function parsePopCount(argv: readonly string[], at: number): number {
  if (at === argv.length) return 1;
  if (upper(argv[at]!) !== 'COUNT' || at + 1 === argv.length) throw SYNTAX_ERROR;
  const count = integerArgument(argv[at + 1]!, NOTHING_COUNTED);
  if (count < 1) throw NOTHING_COUNTED;
  if (at + 2 < argv.length) throw SYNTAX_ERROR;
  return count;
}

const NO_KEYS_COUNTED = new ErrorReply('ERR numkeys should be greater than 0');
const NOTHING_COUNTED = new ErrorReply('ERR count should be greater than 0');
