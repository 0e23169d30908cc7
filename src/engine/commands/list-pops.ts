import { ErrorReply, NULL_ARRAY, type Reply } from '../../resp/index.ts';
import type { CommandTable, Outcome } from '../command.ts';
import { NOT_POSITIVE, SYNTAX_ERROR, wrongArity } from '../errors.ts';
import { countedKeys, keysUpTo, oneKey } from '../key-spec.ts';
import { type End, ListValue } from '../list-value.ts';
import { integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';
import { timeoutArgument } from '../time-argument.ts';
import { changed, createList, listToChange, PUSH_EVENTS, positiveArgument } from './lists.ts';

const POP = ['write', 'fast'] as const;
const BLOCKING_POP = ['write', 'noscript', 'blocking'] as const;
const BLOCKING_MOVE = ['write', 'denyoom', 'noscript', 'blocking'] as const;

/** Commands that remove elements from the ends of lists, with and without blocking. */
export const listPops = {
  LPOP: {
    arity: -2,
    keys: [oneKey('RW access delete')],
    flags: POP,
    run: (session, argv) => pop(session, argv, 'left', 'lpop'),
    syntax: 'key [count]',
    summary: 'Removes and returns elements at the front of a list',
    since: '1.0.0',
    complexity: 'O(N) for N returned elements',
    history: [['6.2.0', 'Accepts a count']],
  },
  RPOP: {
    arity: -2,
    keys: [oneKey('RW access delete')],
    flags: POP,
    run: (session, argv) => pop(session, argv, 'right', 'rpop'),
    syntax: 'key [count]',
    summary: 'Removes and returns elements at the end of a list',
    since: '1.0.0',
    complexity: 'O(N) for N returned elements',
    history: [['6.2.0', 'Accepts a count']],
  },
  LMPOP: {
    arity: -4,
    keys: [countedKeys(1, 'RW access delete')],
    flags: ['write', 'movablekeys'],
    run: lmpop,
    syntax: 'numkeys key [key ...] LEFT|RIGHT [COUNT count]',
    summary: 'Removes and returns elements of the first list that is not empty',
    since: '7.0.0',
    complexity: 'O(N+M) for N keys and M returned elements',
  },
  LMOVE: {
    arity: 5,
    keys: [oneKey('RW access delete'), oneKey('RW insert', 2)],
    flags: ['write', 'denyoom'],
    run: (session, argv) => move(session, argv[1]!, argv[2]!, endAt(argv, 3), endAt(argv, 4)),
    syntax: 'source destination LEFT|RIGHT LEFT|RIGHT',
    summary: 'Moves an element from one list to another',
    since: '6.2.0',
    complexity: 'O(1)',
  },
  RPOPLPUSH: {
    arity: 3,
    keys: [oneKey('RW access delete'), oneKey('RW insert', 2)],
    flags: ['write', 'denyoom'],
    run: (session, argv) => move(session, argv[1]!, argv[2]!, 'right', 'left'),
    syntax: 'source destination',
    summary: 'Moves the last element of one list to the front of another',
    since: '1.2.0',
    complexity: 'O(1)',
    deprecated: { since: '6.2.0', replacedBy: '`LMOVE` with `RIGHT` and `LEFT`' },
  },
  BLPOP: {
    arity: -3,
    keys: [keysUpTo(-2, 'RW access delete')],
    flags: BLOCKING_POP,
    run: (session, argv) => blockingPop(session, argv, 'left'),
    syntax: 'key [key ...] timeout',
    summary: 'Removes and returns the first element of a list, or blocks until there is one',
    since: '2.0.0',
    complexity: 'O(N) for N keys',
    history: [['6.0.0', 'The timeout may be a fraction of a second']],
  },
  BRPOP: {
    arity: -3,
    keys: [keysUpTo(-2, 'RW access delete')],
    flags: BLOCKING_POP,
    run: (session, argv) => blockingPop(session, argv, 'right'),
    syntax: 'key [key ...] timeout',
    summary: 'Removes and returns the last element of a list, or blocks until there is one',
    since: '2.0.0',
    complexity: 'O(N) for N keys',
    history: [['6.0.0', 'The timeout may be a fraction of a second']],
  },
  BLMPOP: {
    arity: -5,
    keys: [countedKeys(2, 'RW access delete')],
    flags: ['write', 'blocking', 'movablekeys'],
    run: blmpop,
    syntax: 'timeout numkeys key [key ...] LEFT|RIGHT [COUNT count]',
    summary:
      'Removes and returns elements of the first list that is not empty, or blocks until there is one',
    since: '7.0.0',
    complexity: 'O(N+M) for N keys and M returned elements',
  },
  BLMOVE: {
    arity: 6,
    keys: [oneKey('RW access delete'), oneKey('RW insert', 2)],
    flags: BLOCKING_MOVE,
    run: (session, argv) => blockingMove(session, argv, endAt(argv, 3), endAt(argv, 4), argv[5]!),
    syntax: 'source destination LEFT|RIGHT LEFT|RIGHT timeout',
    summary: 'Moves an element from one list to another, or blocks until there is one',
    since: '6.2.0',
    complexity: 'O(1)',
  },
  BRPOPLPUSH: {
    arity: 4,
    keys: [oneKey('RW access delete'), oneKey('RW insert', 2)],
    flags: BLOCKING_MOVE,
    run: (session, argv) => blockingMove(session, argv, 'right', 'left', argv[3]!),
    syntax: 'source destination timeout',
    summary:
      'Moves the last element of one list to the front of another, or blocks until there is one',
    since: '2.2.0',
    complexity: 'O(1)',
    history: [['6.0.0', 'The timeout may be a fraction of a second']],
    deprecated: { since: '6.2.0', replacedBy: '`BLMOVE` with `RIGHT` and `LEFT`' },
  },
} as const satisfies CommandTable;

const POP_EVENTS = { left: 'lpop', right: 'rpop' } as const;

function pop(session: Session, argv: readonly string[], end: End, commandName: string): Reply {
  if (argv.length > 3) throw wrongArity(commandName);
  const key = argv[1]!;
  if (argv.length === 2) {
    const list = listToChange(session, key);
    return list === undefined ? null : takeOne(session, key, list, end);
  }
  const count = positiveArgument(argv[2]!, NOT_POSITIVE);
  const list = listToChange(session, key);
  if (list === undefined) return NULL_ARRAY;
  return count === 0 ? [] : takeMany(session, key, list, end, count);
}

function takeOne(session: Session, key: string, list: ListValue, end: End): string {
  const element = list.pop(end);
  changed(session, POP_EVENTS[end], key);
  session.database.deleteIfEmpty(key, list);
  return element;
}

function takeMany(
  session: Session,
  key: string,
  list: ListValue,
  end: End,
  count: number,
): string[] {
  const taken: string[] = [];
  for (let left = Math.min(count, list.size); left > 0; left--) taken.push(list.pop(end));
  changed(session, POP_EVENTS[end], key);
  session.database.deleteIfEmpty(key, list);
  return taken;
}

function endAt(argv: readonly string[], at: number): End {
  const word = upper(argv[at]!);
  if (word === 'LEFT') return 'left';
  if (word === 'RIGHT') return 'right';
  throw SYNTAX_ERROR;
}

/** Source and destination may be the same list, which is then rotated by one element. */
function move(session: Session, source: string, destination: string, from: End, to: End): Reply {
  const giving = listToChange(session, source);
  if (giving === undefined) return null;
  const taking = listToChange(session, destination);
  const element = giving.pop(from);
  (taking ?? createList(session, destination)).push(to, element);
  changed(session, PUSH_EVENTS[to], destination);
  changed(session, POP_EVENTS[from], source);
  session.database.deleteIfEmpty(source, giving);
  return element;
}

interface ManyPop {
  readonly keys: readonly string[];
  readonly end: End;
  readonly count: number;
}

/** Parses the arguments of LMPOP and BLMPOP from the number of keys on. */
function parseManyPop(argv: readonly string[], countAt: number): ManyPop {
  const keyCount = integerArgument(argv[countAt]!, NO_KEYS_GIVEN);
  if (keyCount < 1) throw NO_KEYS_GIVEN;
  const endPlace = countAt + keyCount + 1;
  if (endPlace >= argv.length) throw SYNTAX_ERROR;
  const end = endAt(argv, endPlace);
  const keys = argv.slice(countAt + 1, endPlace);
  if (argv.length === endPlace + 1) return { keys, end, count: 1 };
  if (upper(argv[endPlace + 1]!) !== 'COUNT' || argv.length === endPlace + 2) throw SYNTAX_ERROR;
  const count = integerArgument(argv[endPlace + 2]!, NO_COUNT_GIVEN);
  if (count < 1) throw NO_COUNT_GIVEN;
  if (argv.length > endPlace + 3) throw SYNTAX_ERROR;
  return { keys, end, count };
}

function lmpop(session: Session, argv: readonly string[]): Reply {
  const { keys, end, count } = parseManyPop(argv, 1);
  const take: Take = (key, list) => [key, takeMany(session, key, list, end, count)];
  return takeFirst(session, keys, take) ?? NULL_ARRAY;
}

function blmpop(session: Session, argv: readonly string[]): Outcome {
  const { keys, end, count } = parseManyPop(argv, 2);
  const take: Take = (key, list) => [key, takeMany(session, key, list, end, count)];
  return takeOrWait(session, keys, argv[1]!, take);
}

function blockingPop(session: Session, argv: readonly string[], end: End): Outcome {
  const keys = argv.slice(1, -1);
  const take: Take = (key, list) => [key, takeOne(session, key, list, end)];
  return takeOrWait(session, keys, argv[argv.length - 1]!, take);
}

/** Removes elements from a list that is not empty, and returns the reply. */
type Take = (key: string, list: ListValue) => Reply;

function takeFirst(session: Session, keys: readonly string[], take: Take): Reply | undefined {
  for (const key of keys) {
    const list = listToChange(session, key);
    if (list !== undefined) return take(key, list);
  }
  return undefined;
}

function takeOrWait(
  session: Session,
  keys: readonly string[],
  timeout: string,
  take: Take,
): Outcome {
  const timeoutMs = timeoutArgument(timeout);
  return takeFirst(session, keys, take) ?? wait(session, keys, timeoutMs, take);
}

/** Blocks until one of the keys is a list. A key of another type does not end the block. */
function wait(session: Session, keys: readonly string[], timeoutMs: number, take: Take): Outcome {
  return session.engine.blocking.block(session, {
    keys,
    timeoutMs,
    timeoutReply: NULL_ARRAY,
    serve(key) {
      const value = session.database.peek(key);
      return value instanceof ListValue ? take(key, value) : undefined;
    },
  });
}

function blockingMove(
  session: Session,
  argv: readonly string[],
  from: End,
  to: End,
  timeout: string,
): Outcome {
  const source = argv[1]!;
  const destination = argv[2]!;
  const timeoutMs = timeoutArgument(timeout);
  if (listToChange(session, source) !== undefined || !session.mayBlock) {
    return move(session, source, destination, from, to);
  }
  return wait(session, [source], timeoutMs, () => move(session, source, destination, from, to));
}

const NO_KEYS_GIVEN = new ErrorReply('ERR numkeys should be greater than 0');
const NO_COUNT_GIVEN = new ErrorReply('ERR count should be greater than 0');
