import { ErrorReply, MapReply, OK, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { NOT_A_FLOAT, NOT_AN_INTEGER, SYNTAX_ERROR, WRONG_TYPE, wrongArity } from '../errors.ts';
import { HashValue } from '../hash-value.ts';
import { oneKey } from '../key-spec.ts';
import { isInfinite, parseLongDouble, printSum } from '../long-double.ts';
import { addIntegers, parseInteger } from '../number.ts';
import { sampleCountArgument, sampleSlots } from '../random-sample.ts';
import { parseCursor, scanArguments, scanReply } from '../scan-arguments.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';

const READ = ['readonly', 'fast'] as const;
const READ_ALL = ['readonly'] as const;
const WRITE = ['write', 'denyoom', 'fast'] as const;

export const hashes = {
  HSET: {
    arity: -4,
    keys: [oneKey('RW update')],
    flags: WRITE,
    run: (session, argv) => setFields(session, argv, 'hset'),
    syntax: 'key field value [field value ...]',
    summary: 'Sets fields of a hash; returns how many are new',
    since: '2.0.0',
    complexity: 'O(1) for each field, O(N) for N of them',
    history: [['4.0.0', 'Accepts several fields']],
  },
  HSETNX: {
    arity: 4,
    keys: [oneKey('RW insert')],
    flags: WRITE,
    run: hsetnx,
    syntax: 'key field value',
    summary: 'Sets a field of a hash only if the field does not exist',
    since: '2.0.0',
    complexity: 'O(1)',
  },
  HMSET: {
    arity: -4,
    keys: [oneKey('RW update')],
    flags: WRITE,
    run: hmset,
    syntax: 'key field value [field value ...]',
    summary: 'Sets fields of a hash; returns OK',
    since: '2.0.0',
    complexity: 'O(N) for N fields',
    deprecated: { since: '4.0.0', replacedBy: '`HSET` with several fields' },
  },
  HGET: {
    arity: 3,
    keys: [oneKey('RO access')],
    flags: READ,
    run: (session, argv) => session.database.hash(argv[1]!)?.get(argv[2]!) ?? null,
    syntax: 'key field',
    summary: 'Returns the value of a field',
    since: '2.0.0',
    complexity: 'O(1)',
  },
  HMGET: {
    arity: -3,
    keys: [oneKey('RO access')],
    flags: READ,
    run: hmget,
    syntax: 'key field [field ...]',
    summary: 'Returns the values of several fields',
    since: '2.0.0',
    complexity: 'O(N) for N fields',
  },
  HGETALL: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ_ALL,
    run: hgetall,
    syntax: 'key',
    summary: 'Returns every field with its value',
    since: '2.0.0',
    complexity: 'O(N) for N fields in the hash',
    tips: ['nondeterministic_output_order'],
  },
  HDEL: {
    arity: -3,
    keys: [oneKey('RW delete')],
    flags: ['write', 'fast'],
    run: hdel,
    syntax: 'key field [field ...]',
    summary: 'Removes fields; returns how many existed',
    since: '2.0.0',
    complexity: 'O(N) for N fields',
    history: [['2.4.0', 'Accepts several fields']],
  },
  HEXISTS: {
    arity: 3,
    keys: [oneKey('RO')],
    flags: READ,
    run: (session, argv) => (session.database.hash(argv[1]!)?.has(argv[2]!) ? 1 : 0),
    syntax: 'key field',
    summary: 'Returns 1 if a field exists',
    since: '2.0.0',
    complexity: 'O(1)',
  },
  HLEN: {
    arity: 2,
    keys: [oneKey('RO')],
    flags: READ,
    run: (session, argv) => session.database.hash(argv[1]!)?.size ?? 0,
    syntax: 'key',
    summary: 'Returns the number of fields',
    since: '2.0.0',
    complexity: 'O(1)',
  },
  HSTRLEN: {
    arity: 3,
    keys: [oneKey('RO')],
    flags: READ,
    run: (session, argv) => session.database.hash(argv[1]!)?.get(argv[2]!)?.length ?? 0,
    syntax: 'key field',
    summary: 'Returns the length of the value of a field in bytes',
    since: '3.2.0',
    complexity: 'O(1)',
  },
  HKEYS: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ_ALL,
    run: (session, argv) => session.database.hash(argv[1]!)?.fields().slice() ?? [],
    syntax: 'key',
    summary: 'Returns every field',
    since: '2.0.0',
    complexity: 'O(N) for N fields in the hash',
    tips: ['nondeterministic_output_order'],
  },
  HVALS: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ_ALL,
    run: (session, argv) => session.database.hash(argv[1]!)?.values().slice() ?? [],
    syntax: 'key',
    summary: 'Returns the value of every field',
    since: '2.0.0',
    complexity: 'O(N) for N fields in the hash',
    tips: ['nondeterministic_output_order'],
  },
  HINCRBY: {
    arity: 4,
    keys: [oneKey('RW access update')],
    flags: WRITE,
    run: hincrby,
    syntax: 'key field increment',
    summary: 'Adds to the integer in a field',
    since: '2.0.0',
    complexity: 'O(1)',
  },
  HINCRBYFLOAT: {
    arity: 4,
    keys: [oneKey('RW access update')],
    flags: WRITE,
    run: hincrbyfloat,
    syntax: 'key field increment',
    summary: 'Adds to the floating point number in a field',
    since: '2.6.0',
    complexity: 'O(1)',
  },
  HRANDFIELD: {
    arity: -2,
    keys: [oneKey('RO access')],
    flags: READ_ALL,
    run: hrandfield,
    syntax: 'key [count [WITHVALUES]]',
    summary: 'Returns random fields; with a negative count they may repeat',
    since: '6.2.0',
    complexity: 'O(N) for N returned fields',
    tips: ['nondeterministic_output'],
  },
  HSCAN: {
    arity: -3,
    keys: [oneKey('RO access')],
    flags: READ_ALL,
    run: hscan,
    syntax: 'key cursor [MATCH pattern] [COUNT count]',
    summary: 'Iterates over fields and values in steps',
    since: '2.8.0',
    complexity: 'O(1) for a step, O(N) for a whole walk through N fields',
    tips: ['nondeterministic_output'],
  },
} as const satisfies CommandTable;

/** The hash at a key, for a command that writes: counts neither as a hit nor as a miss. */
function hashToChange({ database }: Session, key: string): HashValue | undefined {
  const value = database.peek(key);
  if (value === undefined || value instanceof HashValue) return value;
  throw WRONG_TYPE;
}

function createHash({ database, engine }: Session, key: string): HashValue {
  const hash = new HashValue(engine.journal);
  database.set(key, hash);
  return hash;
}

function changed({ database }: Session, event: string, key: string): void {
  database.changed(key);
  database.notify('hash', event, key);
}

function setFields(session: Session, argv: readonly string[], commandName: string): number {
  if (argv.length % 2 === 1) throw wrongArity(commandName);
  const key = argv[1]!;
  const hash = hashToChange(session, key) ?? createHash(session, key);
  let created = 0;
  for (let at = 2; at < argv.length; at += 2) if (hash.set(argv[at]!, argv[at + 1]!)) created++;
  changed(session, 'hset', key);
  return created;
}

function hmset(session: Session, argv: readonly string[]): Reply {
  setFields(session, argv, 'hmset');
  return OK;
}

function hsetnx(session: Session, argv: readonly string[]): Reply {
  const key = argv[1]!;
  const existing = hashToChange(session, key);
  if (existing?.has(argv[2]!)) return 0;
  const hash = existing ?? createHash(session, key);
  hash.set(argv[2]!, argv[3]!);
  changed(session, 'hset', key);
  return 1;
}

function hmget(session: Session, argv: readonly string[]): Reply {
  const hash = session.database.hash(argv[1]!);
  const values: Reply[] = [];
  for (let at = 2; at < argv.length; at++) values.push(hash?.get(argv[at]!) ?? null);
  return values;
}

function hgetall(session: Session, argv: readonly string[]): Reply {
  const hash = session.database.hash(argv[1]!);
  const entries: [string, string][] = [];
  if (hash === undefined) return new MapReply(entries);
  for (let slot = 0; slot < hash.size; slot++) {
    entries.push([hash.fieldAt(slot), hash.valueAt(slot)]);
  }
  return new MapReply(entries);
}

function hdel(session: Session, argv: readonly string[]): Reply {
  const key = argv[1]!;
  const hash = hashToChange(session, key);
  if (hash === undefined) return 0;
  let removed = 0;
  for (let at = 2; at < argv.length; at++) if (hash.delete(argv[at]!)) removed++;
  if (removed === 0) return 0;
  changed(session, 'hdel', key);
  session.database.deleteIfEmpty(key, hash);
  return removed;
}

function hincrby(session: Session, argv: readonly string[]): Reply {
  const key = argv[1]!;
  const field = argv[2]!;
  const increment = parseInteger(argv[3]!);
  if (increment === undefined) throw NOT_AN_INTEGER;
  const hash = hashToChange(session, key);
  const current = parseInteger(hash?.get(field) ?? '0');
  if (current === undefined) throw VALUE_NOT_AN_INTEGER;
  const sum = addIntegers(current, increment);
  (hash ?? createHash(session, key)).set(field, String(sum));
  changed(session, 'hincrby', key);
  return sum;
}

function hincrbyfloat(session: Session, argv: readonly string[]): Reply {
  const key = argv[1]!;
  const field = argv[2]!;
  const increment = parseLongDouble(argv[3]!);
  if (increment === undefined) throw NOT_A_FLOAT;
  if (isInfinite(increment)) throw INFINITE_INCREMENT;
  const hash = hashToChange(session, key);
  const current = parseLongDouble(hash?.get(field) ?? '0');
  if (current === undefined) throw VALUE_NOT_A_FLOAT;
  const sum = printSum(current, increment);
  (hash ?? createHash(session, key)).set(field, sum);
  changed(session, 'hincrbyfloat', key);
  return sum;
}

function hrandfield(session: Session, argv: readonly string[]): Reply {
  const { database, engine } = session;
  if (argv.length === 2) return database.hash(argv[1]!)?.randomField(engine.random) ?? null;
  const count = sampleCountArgument(argv[2]!);
  const withValues = argv.length === 4;
  if (argv.length > 4 || (withValues && upper(argv[3]!) !== 'WITHVALUES')) throw SYNTAX_ERROR;
  // As in Redis: the length of a reply with fields and values must fit into 64 bits.
  if (withValues && Math.abs(count) >= 2 ** 62) throw OUT_OF_RANGE;
  const hash = database.hash(argv[1]!);
  if (hash === undefined) return [];
  const slots = sampleSlots(hash.size, count, engine.random);
  if (!withValues) return slots.map((slot) => hash.fieldAt(slot));
  const pairs = slots.map((slot) => [hash.fieldAt(slot), hash.valueAt(slot)]);
  return session.protocol === 2 ? pairs.flat() : pairs;
}

function hscan(session: Session, argv: readonly string[]): Reply {
  parseCursor(argv[2]!);
  const hash = session.database.hash(argv[1]!);
  if (hash === undefined) return scanReply(0, []);
  const { cursor, count, admits } = scanArguments(argv, 2);
  const found: string[] = [];
  const next = hash.scan(cursor, count, (slot) => {
    if (admits(hash.fieldAt(slot))) found.push(hash.fieldAt(slot), hash.valueAt(slot));
  });
  return scanReply(next, found);
}

const VALUE_NOT_AN_INTEGER = new ErrorReply('ERR hash value is not an integer');
const VALUE_NOT_A_FLOAT = new ErrorReply('ERR hash value is not a float');
const INFINITE_INCREMENT = new ErrorReply('ERR value is NaN or Infinity');
const OUT_OF_RANGE = new ErrorReply('ERR value is out of range');
