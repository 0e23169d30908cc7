import { ErrorReply, OK, type Reply, SimpleReply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import type { Database } from '../database.ts';
import { NO_SUCH_KEY, SYNTAX_ERROR } from '../errors.ts';
import { globFilter } from '../glob.ts';
import { keysUpTo, oneKey } from '../key-spec.ts';
import { int32Argument } from '../number.ts';
import { scanArguments, scanReply } from '../scan-arguments.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';
import { typeName, valueBytes } from '../value.ts';
import { withoutUse } from '../without-use.ts';

export const keys = {
  DEL: {
    arity: -2,
    keys: [keysUpTo(-1, 'RM delete')],
    flags: ['write'],
    run: del,
    syntax: 'key [key ...]',
    summary: 'Deletes keys; returns how many existed',
    since: '1.0.0',
    complexity: 'O(N) for N keys: O(1) for a string, O(M) for a collection of M elements',
    tips: ['request_policy:multi_shard', 'response_policy:agg_sum'],
  },
  UNLINK: {
    arity: -2,
    keys: [keysUpTo(-1, 'RM delete')],
    flags: ['write', 'fast'],
    run: del,
    syntax: 'key [key ...]',
    summary: 'Deletes keys; their memory is freed later',
    since: '4.0.0',
    complexity: 'O(1) for each key; its memory is freed later, in O(N) for N parts',
    tips: ['request_policy:multi_shard', 'response_policy:agg_sum'],
  },
  EXISTS: {
    arity: -2,
    keys: [keysUpTo(-1, 'RO')],
    flags: ['readonly', 'fast'],
    run: exists,
    syntax: 'key [key ...]',
    summary: 'Counts the keys that exist',
    since: '1.0.0',
    complexity: 'O(N) for N keys',
    history: [['3.0.3', 'Accepts several keys']],
    tips: ['request_policy:multi_shard', 'response_policy:agg_sum'],
  },
  TOUCH: {
    arity: -2,
    keys: [keysUpTo(-1, 'RO')],
    flags: ['readonly', 'fast'],
    run: touch,
    syntax: 'key [key ...]',
    summary: 'Marks keys as used and counts those that exist',
    since: '3.2.1',
    complexity: 'O(N) for N keys',
    tips: ['request_policy:multi_shard', 'response_policy:agg_sum'],
  },
  TYPE: {
    arity: 2,
    keys: [oneKey('RO')],
    flags: ['readonly', 'fast'],
    run: type,
    syntax: 'key',
    summary: 'Returns the type of the value at a key',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  KEYS: {
    arity: 2,
    keys: NO_KEYS,
    flags: ['readonly'],
    run: (session, argv) => keysLike(session.database, argv[1]!),
    syntax: 'pattern',
    summary: 'Returns all keys that match a pattern',
    since: '1.0.0',
    complexity: 'O(N) for N keys in the database, if names and pattern are short',
    tips: ['request_policy:all_shards', 'nondeterministic_output_order'],
  },
  SCAN: {
    arity: -2,
    keys: NO_KEYS,
    flags: ['readonly'],
    run: scan,
    syntax: 'cursor [MATCH pattern] [COUNT count] [TYPE type]',
    summary: 'Iterates over the keys in steps',
    since: '2.8.0',
    complexity: 'O(1) for a step, O(N) for a whole walk through N keys',
    history: [['6.0.0', 'Option TYPE']],
    tips: ['nondeterministic_output', 'request_policy:special'],
  },
  RANDOMKEY: {
    arity: 1,
    keys: NO_KEYS,
    flags: ['readonly'],
    run: (session) => session.database.randomKey() ?? null,
    syntax: '',
    summary: 'Returns a random key',
    since: '1.0.0',
    complexity: 'O(1)',
    tips: ['request_policy:all_shards', 'nondeterministic_output'],
  },
  RENAME: {
    arity: 3,
    keys: [oneKey('RW access delete'), oneKey('OW update', 2)],
    flags: ['write'],
    run: (session, argv) => {
      rename(session.database, argv[1]!, argv[2]!, true);
      return OK;
    },
    syntax: 'key newkey',
    summary: 'Renames a key and overwrites the new name',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  RENAMENX: {
    arity: 3,
    keys: [oneKey('RW access delete'), oneKey('OW insert', 2)],
    flags: ['write', 'fast'],
    run: (session, argv) => (rename(session.database, argv[1]!, argv[2]!, false) ? 1 : 0),
    syntax: 'key newkey',
    summary: 'Renames a key only if the new name does not exist',
    since: '1.0.0',
    complexity: 'O(1)',
    history: [['3.2.0', 'A key may be renamed to its own name without an error']],
  },
  COPY: {
    arity: -3,
    keys: [oneKey('RO access'), oneKey('OW update', 2)],
    flags: ['write', 'denyoom'],
    run: copy,
    countsReads: true,
    syntax: 'source destination [DB destination-db] [REPLACE]',
    summary: 'Copies the value and the deadline of a key',
    since: '6.2.0',
    complexity: 'O(N) for a collection of N elements, O(1) for a string',
  },
  MOVE: {
    arity: 3,
    keys: [oneKey('RW access update')],
    flags: ['write', 'fast'],
    run: move,
    syntax: 'key db',
    summary: 'Moves a key to another database',
    since: '1.0.0',
    complexity: 'O(1)',
  },
} as const satisfies CommandTable;

/** Commands on all keys, which are in the group `server` in Redis. */
export const allKeys = {
  DBSIZE: {
    arity: 1,
    keys: NO_KEYS,
    flags: ['readonly', 'fast'],
    run: (session) => session.database.size,
    syntax: '',
    summary: 'Counts the keys of the database',
    since: '1.0.0',
    complexity: 'O(1)',
    tips: ['request_policy:all_shards', 'response_policy:agg_sum'],
  },
  FLUSHDB: {
    arity: -1,
    keys: NO_KEYS,
    flags: ['write'],
    run: (session, argv) => flush([session.database], argv),
    syntax: '[ASYNC|SYNC]',
    summary: 'Removes all keys of the database',
    since: '1.0.0',
    complexity: 'O(N) for N keys in the database',
    history: [
      ['4.0.0', 'Option ASYNC'],
      ['6.2.0', 'Option SYNC'],
    ],
    tips: ['request_policy:all_shards', 'response_policy:all_succeeded'],
  },
  FLUSHALL: {
    arity: -1,
    keys: NO_KEYS,
    flags: ['write'],
    run: (session, argv) => flush(session.engine.usedDatabases(), argv),
    syntax: '[ASYNC|SYNC]',
    summary: 'Removes all keys of all databases',
    since: '1.0.0',
    complexity: 'O(N) for N keys in all databases',
    history: [
      ['4.0.0', 'Option ASYNC'],
      ['6.2.0', 'Option SYNC'],
    ],
    tips: ['request_policy:all_shards', 'response_policy:all_succeeded'],
  },
} as const satisfies CommandTable;

function count(argv: readonly string[], test: (key: string) => boolean): number {
  let found = 0;
  for (let at = 1; at < argv.length; at++) if (test(argv[at]!)) found++;
  return found;
}

function del({ database }: Session, argv: readonly string[]): Reply {
  let deleted = 0;
  for (let at = 1; at < argv.length; at++) {
    const key = argv[at]!;
    if (!database.delete(key)) continue;
    database.notify('generic', 'del', key);
    deleted++;
  }
  return deleted;
}

function keysLike(database: Database, pattern: string): string[] {
  const keys = database.keys();
  return pattern === '*' ? keys : keys.filter(globFilter(pattern));
}

/** TOUCH marks keys as used even in a session with CLIENT NO-TOUCH. */
function touch({ engine, database }: Session, argv: readonly string[]): Reply {
  engine.marksUse = true;
  return count(argv, (key) => database.get(key) !== undefined);
}

function exists({ engine, database }: Session, argv: readonly string[]): Reply {
  return withoutUse(engine, () => count(argv, (key) => database.get(key) !== undefined));
}

function type({ engine, database }: Session, argv: readonly string[]): Reply {
  const value = withoutUse(engine, () => database.get(argv[1]!));
  return new SimpleReply(value === undefined ? 'none' : typeName(value));
}

function scan({ database, engine, user }: Session, argv: readonly string[]): Reply {
  const { cursor, count, admits, type } = scanArguments(argv, 1);
  const isVisible = engine.acl.scanFilter(user, argv);
  const found: string[] = [];
  const next = database.scan(cursor, count, (key, value) => {
    const matches = admits(key) && (type === undefined || type === typeName(value));
    if (matches && isVisible(key)) found.push(key);
  });
  return scanReply(next, found);
}

function rename(database: Database, from: string, to: string, overwrites: boolean): boolean {
  const value = database.peek(from);
  if (value === undefined) throw NO_SUCH_KEY;
  if (from === to) return overwrites;
  if (!overwrites && database.has(to)) return false;
  const deadlineMs = database.deadline(from);
  // Deleted first, so that the new name is created: only that serves blocked clients.
  database.delete(to);
  database.delete(from);
  database.set(to, value, deadlineMs);
  database.notify('generic', 'rename_from', from);
  database.notify('generic', 'rename_to', to);
  return true;
}

function copy(session: Session, argv: readonly string[]): Reply {
  const { target, replaces } = parseCopyOptions(session, argv);
  const [, from, to] = argv as [string, string, string];
  const source = session.database;
  if (source === target && from === to) throw SAME_OBJECT;
  const value = source.get(from);
  if (value === undefined) return 0;
  session.engine.memory.reserve(valueBytes(value));
  if (target.has(to)) {
    if (!replaces) return 0;
    target.delete(to);
  }
  target.set(to, typeof value === 'string' ? value : value.copy(), source.deadline(from));
  target.notify('generic', 'copy_to', to);
  return 1;
}

function parseCopyOptions(
  session: Session,
  argv: readonly string[],
): { target: Database; replaces: boolean } {
  let target = session.database;
  let replaces = false;
  for (let at = 3; at < argv.length; at++) {
    const word = upper(argv[at]!);
    if (word === 'REPLACE') replaces = true;
    else if (word === 'DB' && at + 1 < argv.length) target = databaseArgument(session, argv[++at]!);
    else throw SYNTAX_ERROR;
  }
  return { target, replaces };
}

function move(session: Session, argv: readonly string[]): Reply {
  const source = session.database;
  const target = databaseArgument(session, argv[2]!);
  const key = argv[1]!;
  if (source === target) throw SAME_OBJECT;
  const value = source.peek(key);
  if (value === undefined || target.has(key)) return 0;
  const deadlineMs = source.deadline(key);
  source.delete(key);
  target.set(key, value, deadlineMs);
  source.notify('generic', 'move_from', key);
  target.notify('generic', 'move_to', key);
  return 1;
}

function databaseArgument({ engine }: Session, text: string): Database {
  const number = int32Argument(text);
  if (number < 0 || number >= engine.databaseCount) {
    throw new ErrorReply('ERR DB index is out of range');
  }
  return engine.database(number);
}

/** ASYNC and SYNC are the same, because the garbage collector frees the memory. */
function flush(databases: readonly Database[], argv: readonly string[]): Reply {
  const mode = argv[1] === undefined ? 'SYNC' : upper(argv[1]);
  if (argv.length > 2 || (mode !== 'SYNC' && mode !== 'ASYNC')) throw SYNTAX_ERROR;
  for (const database of databases) database.flush();
  return OK;
}

const SAME_OBJECT = new ErrorReply('ERR source and destination objects are the same');
