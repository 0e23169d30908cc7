import { DEFAULT_REQUEST_LIMITS, ErrorReply, OK, partOf, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { NEVER } from '../deadline-heap.ts';
import { INT64_MIN, NOT_AN_INTEGER, SYNTAX_ERROR, WRONG_TYPE, wrongArity } from '../errors.ts';
import { type KeyReference, keyReference, keysUpTo, oneKey } from '../key-spec.ts';
import { addLongDoubles } from '../long-double.ts';
import { addIntegers, integerArgument, parseInteger } from '../number.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';
import { relativeDeadline, TIME_UNITS, type TimeUnit } from '../time-argument.ts';
import type { Value } from '../value.ts';

const READ = ['readonly', 'fast'] as const;
const WRITE = ['write', 'denyoom', 'fast'] as const;

export const strings = {
  GET: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ,
    run: (session, argv) => session.database.string(argv[1]!) ?? null,
    syntax: 'key',
    summary: 'Returns the value of a key',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  SET: {
    arity: -3,
    keys: [oneKey('RW access update variable_flags', 1, 'The value is returned only with GET')],
    findKeys: setKeys,
    flags: ['write', 'denyoom'],
    run: set,
    countsReads: true,
    syntax:
      'key value [NX|XX|IFEQ value|IFNE value] [GET] [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds|KEEPTTL]',
    summary: 'Sets the value of a key, optionally with a condition and a time to live',
    since: '1.0.0',
    complexity: 'O(1); with a time to live O(log(N)) here, for N keys with a deadline',
    history: [
      ['2.6.12', 'Options NX, XX, EX and PX'],
      ['6.0.0', 'Option KEEPTTL'],
      ['6.2.0', 'Options GET, EXAT and PXAT'],
      ['7.0.0', 'NX and GET may stand together'],
    ],
  },
  SETNX: {
    arity: 3,
    keys: [oneKey('OW insert')],
    flags: WRITE,
    run: setnx,
    syntax: 'key value',
    summary: 'Sets the value of a key only if the key does not exist',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  SETEX: {
    arity: 4,
    keys: [oneKey('OW update')],
    flags: ['write', 'denyoom'],
    run: (session, argv) => setFor(session, argv, 'EX'),
    syntax: 'key seconds value',
    summary: 'Sets the value of a key and its time to live in seconds',
    since: '2.0.0',
    complexity: 'O(1) in Redis; O(log(N)) here, for N keys with a deadline',
  },
  PSETEX: {
    arity: 4,
    keys: [oneKey('OW update')],
    flags: ['write', 'denyoom'],
    run: (session, argv) => setFor(session, argv, 'PX'),
    syntax: 'key milliseconds value',
    summary: 'Sets the value of a key and its time to live in milliseconds',
    since: '2.6.0',
    complexity: 'O(1) in Redis; O(log(N)) here, for N keys with a deadline',
  },
  GETSET: {
    arity: 3,
    keys: [oneKey('RW access update')],
    flags: WRITE,
    run: getset,
    countsReads: true,
    syntax: 'key value',
    summary: 'Sets a new value and returns the old one',
    since: '1.0.0',
    complexity: 'O(1)',
    deprecated: { since: '6.2.0', replacedBy: '`SET` with `GET`' },
  },
  GETDEL: {
    arity: 2,
    keys: [oneKey('RW access delete')],
    flags: ['write', 'fast'],
    run: getdel,
    countsReads: true,
    syntax: 'key',
    summary: 'Returns the value of a key and deletes it',
    since: '6.2.0',
    complexity: 'O(1)',
  },
  GETEX: {
    arity: -2,
    keys: [oneKey('RW access update', 1, 'Changes the time to live')],
    flags: ['write', 'fast'],
    run: getex,
    countsReads: true,
    syntax:
      'key [EX seconds|PX milliseconds|EXAT unix-time-seconds|PXAT unix-time-milliseconds|PERSIST]',
    summary: 'Returns the value of a key and sets its time to live',
    since: '6.2.0',
    complexity: 'O(1); to change the time to live O(log(N)) here, for N keys with a deadline',
  },
  DELIFEQ: {
    arity: 3,
    keys: [oneKey('RW access delete')],
    flags: ['write', 'fast'],
    run: (session, argv) => deleteIf(session, argv[1]!, (current) => current === argv[2]),
    syntax: 'key value',
    summary: 'Deletes a key only if it has the value (as in Valkey 9)',
    since: '9.0.0',
    complexity: 'O(1)',
  },
  DELEX: {
    arity: -2,
    keys: [oneKey('RW access delete')],
    flags: ['write', 'fast'],
    run: delex,
    syntax: 'key [IFEQ value|IFNE value]',
    summary: 'Deletes a key on a condition on its value (as in Redis 8.4)',
    since: '8.4.0',
    complexity: 'O(1)',
  },
  MGET: {
    arity: -2,
    keys: [keysUpTo(-1, 'RO access')],
    flags: READ,
    run: mget,
    syntax: 'key [key ...]',
    summary: 'Returns the values of several keys',
    since: '1.0.0',
    complexity: 'O(N) for N keys',
    tips: ['request_policy:multi_shard'],
  },
  MSET: {
    arity: -3,
    keys: [keysUpTo(-1, 'OW update', 1, 2)],
    flags: ['write', 'denyoom'],
    run: mset,
    syntax: 'key value [key value ...]',
    summary: 'Sets several keys at once',
    since: '1.0.1',
    complexity: 'O(N) for N keys',
    tips: ['request_policy:multi_shard', 'response_policy:all_succeeded'],
  },
  MSETNX: {
    arity: -3,
    keys: [keysUpTo(-1, 'OW insert', 1, 2)],
    flags: ['write', 'denyoom'],
    run: msetnx,
    syntax: 'key value [key value ...]',
    summary: 'Sets several keys at once only if none of them exists',
    since: '1.0.1',
    complexity: 'O(N) for N keys',
    tips: ['request_policy:multi_shard', 'response_policy:agg_min'],
  },
  APPEND: {
    arity: 3,
    keys: [oneKey('RW insert')],
    flags: WRITE,
    run: append,
    syntax: 'key value',
    summary: 'Appends to the value of a key and returns its length',
    since: '2.0.0',
    complexity: 'O(1) on average in Redis; O(N) here, for a result of N bytes',
  },
  STRLEN: {
    arity: 2,
    keys: [oneKey('RO')],
    flags: READ,
    run: (session, argv) => (session.database.string(argv[1]!) ?? '').length,
    syntax: 'key',
    summary: 'Returns the length of the value of a key',
    since: '2.2.0',
    complexity: 'O(1)',
  },
  GETRANGE: {
    arity: 4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: getrange,
    syntax: 'key start end',
    summary: 'Returns a part of the value of a key',
    since: '2.4.0',
    complexity: 'O(N) for a part of N bytes, O(1) for a short one',
  },
  SUBSTR: {
    arity: 4,
    keys: [oneKey('RO access')],
    flags: ['readonly'],
    run: getrange,
    syntax: 'key start end',
    summary: 'Returns a part of the value of a key (the old name of GETRANGE)',
    since: '1.0.0',
    complexity: 'O(N) for a part of N bytes, O(1) for a short one',
    deprecated: { since: '2.0.0', replacedBy: '`GETRANGE`' },
  },
  SETRANGE: {
    arity: 4,
    keys: [oneKey('RW update')],
    flags: ['write', 'denyoom'],
    run: setrange,
    syntax: 'key offset value',
    summary: 'Overwrites a part of the value of a key from an offset on',
    since: '2.2.0',
    complexity:
      'O(1) in Redis, O(M) for a part of M bytes if it is long; O(N) here, for a result of N bytes',
  },
  INCR: {
    arity: 2,
    keys: [oneKey('RW access update')],
    flags: WRITE,
    run: (session, argv) => incrementBy(session, argv[1]!, 1),
    syntax: 'key',
    summary: 'Adds one to the integer value of a key',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  DECR: {
    arity: 2,
    keys: [oneKey('RW access update')],
    flags: WRITE,
    run: (session, argv) => incrementBy(session, argv[1]!, -1),
    syntax: 'key',
    summary: 'Subtracts one from the integer value of a key',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  INCRBY: {
    arity: 3,
    keys: [oneKey('RW access update')],
    flags: WRITE,
    run: (session, argv) => incrementBy(session, argv[1]!, exactInteger(argv[2]!)),
    syntax: 'key increment',
    summary: 'Adds to the integer value of a key',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  DECRBY: {
    arity: 3,
    keys: [oneKey('RW access update')],
    flags: WRITE,
    run: decrby,
    syntax: 'key decrement',
    summary: 'Subtracts from the integer value of a key',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  INCRBYFLOAT: {
    arity: 3,
    keys: [oneKey('RW access update')],
    flags: WRITE,
    run: incrbyfloat,
    syntax: 'key increment',
    summary: 'Adds to the floating point value of a key',
    since: '2.6.0',
    complexity: 'O(1)',
  },
} as const satisfies CommandTable;

/** The limit of Redis is 512 MiB; the limit of a JavaScript string is 24 bytes less. */
const MAX_STRING_BYTES = DEFAULT_REQUEST_LIMITS.maxBulkBytes;

/** The options of SET. */
interface SetOptions {
  condition: 'NX' | 'XX' | 'IFEQ' | 'IFNE' | undefined;
  expected: string;
  returnsOld: boolean;
  keepsDeadline: boolean;
  deadlineMs: number;
}

/** SET reads the old value only with an option that returns or compares it. */
function setKeys(argv: readonly string[]): readonly KeyReference[] {
  for (let at = 3; at < argv.length; at++) {
    if (READING_OPTIONS.has(upper(argv[at]!))) return READ_AND_SET;
  }
  return ONLY_SET;
}

const READ_AND_SET: readonly KeyReference[] = [keyReference(1, 'RW access update')];
const ONLY_SET: readonly KeyReference[] = [keyReference(1, 'OW update')];

const READING_OPTIONS: ReadonlySet<string> = new Set(['GET', 'IFEQ', 'IFNE']);

function set(session: Session, argv: readonly string[]): Reply {
  if (argv.length === 3) {
    store(session, argv[1]!, argv[2]!, NEVER);
    return OK;
  }
  if (argv.length === 6 && argv[3] === 'NX' && argv[4] === 'PX') return setLock(session, argv);
  const options = parseSetOptions(session, argv);
  const { database } = session;
  const key = argv[1]!;
  const current = options.returnsOld ? database.string(key) : database.peek(key);
  const old = options.returnsOld ? ((current as string | undefined) ?? null) : undefined;
  if (!admits(options, current)) return old ?? null;
  const deadlineMs = options.keepsDeadline ? database.deadline(key) : options.deadlineMs;
  store(session, key, argv[2]!, deadlineMs);
  if (options.deadlineMs !== NEVER) database.notify('generic', 'expire', key);
  return old === undefined ? OK : old;
}

/** `SET key token NX PX time`, as every lock on Redis is taken: without the options of the general form. */
function setLock(session: Session, argv: readonly string[]): Reply {
  const { database } = session;
  const key = argv[1]!;
  const deadlineMs = relativeDeadline(session, 'PX', argv[5]!, 'set');
  if (database.has(key)) return null;
  store(session, key, argv[2]!, deadlineMs);
  database.notify('generic', 'expire', key);
  return OK;
}

function admits({ condition, expected }: SetOptions, current: Value | undefined): boolean {
  switch (condition) {
    case undefined:
      return true;
    case 'NX':
      return current === undefined;
    case 'XX':
      return current !== undefined;
    case 'IFEQ':
      return current !== undefined && asString(current) === expected;
    case 'IFNE':
      return current === undefined || asString(current) !== expected;
  }
}

function parseSetOptions(session: Session, argv: readonly string[]): SetOptions {
  const options: SetOptions = {
    condition: undefined,
    expected: '',
    returnsOld: false,
    keepsDeadline: false,
    deadlineMs: NEVER,
  };
  let unit: TimeUnit | undefined;
  let time = '';
  for (let at = 3; at < argv.length; at++) {
    const word = upper(argv[at]!);
    const hasNext = at + 1 < argv.length;
    if ((word === 'NX' || word === 'XX') && options.condition === undefined) {
      options.condition = word;
    } else if ((word === 'IFEQ' || word === 'IFNE') && options.condition === undefined && hasNext) {
      options.condition = word;
      options.expected = argv[++at]!;
    } else if (word === 'GET') {
      options.returnsOld = true;
    } else if (word === 'KEEPTTL' && unit === undefined) {
      options.keepsDeadline = true;
    } else if (word in TIME_UNITS && unit === undefined && !options.keepsDeadline && hasNext) {
      unit = word as TimeUnit;
      time = argv[++at]!;
    } else if (options.condition === word) {
      // As in Redis, NX NX and XX XX are accepted.
    } else throw SYNTAX_ERROR;
  }
  if (unit !== undefined) options.deadlineMs = relativeDeadline(session, unit, time, 'set');
  return options;
}

function store(session: Session, key: string, value: string, deadlineMs: number): void {
  session.database.set(key, value, deadlineMs);
  session.database.notify('string', 'set', key);
}

function setnx(session: Session, argv: readonly string[]): Reply {
  if (session.database.has(argv[1]!)) return 0;
  store(session, argv[1]!, argv[2]!, NEVER);
  return 1;
}

function setFor(session: Session, argv: readonly string[], unit: 'EX' | 'PX'): Reply {
  const name = unit === 'EX' ? 'setex' : 'psetex';
  const deadlineMs = relativeDeadline(session, unit, argv[2]!, name);
  store(session, argv[1]!, argv[3]!, deadlineMs);
  session.database.notify('generic', 'expire', argv[1]!);
  return OK;
}

function getset(session: Session, argv: readonly string[]): Reply {
  const old = session.database.string(argv[1]!);
  store(session, argv[1]!, argv[2]!, NEVER);
  return old ?? null;
}

function getdel(session: Session, argv: readonly string[]): Reply {
  const value = session.database.string(argv[1]!);
  if (value === undefined) return null;
  session.database.delete(argv[1]!);
  session.database.notify('generic', 'del', argv[1]!);
  return value;
}

function getex(session: Session, argv: readonly string[]): Reply {
  const time = parseGetexTime(argv);
  const { database } = session;
  const key = argv[1]!;
  const value = database.string(key);
  if (value === undefined) return null;
  if (time === undefined) return value;
  const deadlineMs =
    time === 'PERSIST' ? NEVER : relativeDeadline(session, time.unit, time.amount, 'getex');
  if (deadlineMs <= session.engine.nowMs) {
    database.delete(key);
    database.notify('generic', 'del', key);
  } else if (deadlineMs !== NEVER) {
    database.setDeadline(key, deadlineMs);
    database.notify('generic', 'expire', key);
  } else if (database.deadline(key) !== NEVER) {
    database.setDeadline(key, NEVER);
    database.notify('generic', 'persist', key);
  }
  return value;
}

/** Parses the time of GETEX; undefined: do not change the deadline. */
function parseGetexTime(
  argv: readonly string[],
): 'PERSIST' | { unit: TimeUnit; amount: string } | undefined {
  let time: ReturnType<typeof parseGetexTime>;
  for (let at = 2; at < argv.length; at++) {
    const word = upper(argv[at]!);
    if (word === 'PERSIST' && (time === undefined || time === 'PERSIST')) time = word;
    else if (word in TIME_UNITS && time === undefined && at + 1 < argv.length) {
      time = { unit: word as TimeUnit, amount: argv[++at]! };
    } else throw SYNTAX_ERROR;
  }
  return time;
}

function delex(session: Session, argv: readonly string[]): Reply {
  const key = argv[1]!;
  if (argv.length === 2) return remove(session, key);
  const word = upper(argv[2]!);
  if (argv.length !== 4) throw argv.length === 3 ? wrongArity('delex') : SYNTAX_ERROR;
  if (word === 'IFEQ') return deleteIf(session, key, (current) => current === argv[3]);
  if (word === 'IFNE') return deleteIf(session, key, (current) => current !== argv[3]);
  throw SYNTAX_ERROR;
}

function deleteIf(session: Session, key: string, admitted: (current: string) => boolean): Reply {
  const current = session.database.string(key);
  return current !== undefined && admitted(current) ? remove(session, key) : 0;
}

function remove(session: Session, key: string): Reply {
  if (!session.database.delete(key)) return 0;
  session.database.notify('generic', 'del', key);
  return 1;
}

function mget(session: Session, argv: readonly string[]): Reply {
  const values: Reply[] = [];
  for (let at = 1; at < argv.length; at++) {
    const value = session.database.get(argv[at]!);
    values.push(typeof value === 'string' ? value : null);
  }
  return values;
}

function mset(session: Session, argv: readonly string[]): Reply {
  if (argv.length % 2 === 0) throw wrongArity('mset');
  storeAll(session, argv);
  return OK;
}

function msetnx(session: Session, argv: readonly string[]): Reply {
  if (argv.length % 2 === 0) throw wrongArity('msetnx');
  for (let at = 1; at < argv.length; at += 2) if (session.database.has(argv[at]!)) return 0;
  storeAll(session, argv);
  return 1;
}

function storeAll(session: Session, argv: readonly string[]): void {
  for (let at = 1; at < argv.length; at += 2) store(session, argv[at]!, argv[at + 1]!, NEVER);
}

function append(session: Session, argv: readonly string[]): Reply {
  const current = session.database.string(argv[1]!) ?? '';
  assertFits(current.length + argv[2]!.length);
  session.engine.memory.reserve(current.length + argv[2]!.length);
  const value = current + argv[2]!;
  if (argv[2]!.length < MIN_ROPE_BYTES) flatten(value);
  // An empty part would not create the key.
  const part = argv[2] === '' ? undefined : { offset: current.length, text: argv[2]! };
  session.database.replace(argv[1]!, value, part);
  session.database.notify('string', 'append', argv[1]!);
  return current.length + argv[2]!.length;
}

function getrange(session: Session, argv: readonly string[]): Reply {
  let start = integerArgument(argv[2]!);
  let end = integerArgument(argv[3]!);
  const value = session.database.string(argv[1]!) ?? '';
  if (start < 0 && end < 0 && start > end) return '';
  if (start < 0) start = Math.max(0, value.length + start);
  if (end < 0) end = Math.max(0, value.length + end);
  return partOf(value, start, Math.max(start, Math.min(end, value.length - 1) + 1));
}

function setrange(session: Session, argv: readonly string[]): Reply {
  const offset = integerArgument(argv[2]!);
  const part = argv[3]!;
  if (offset < 0) throw new ErrorReply('ERR offset is out of range');
  const current = session.database.string(argv[1]!) ?? '';
  if (part.length === 0) return current.length;
  assertFits(offset + part.length);
  session.engine.memory.reserve(Math.max(offset + part.length, current.length));
  const head = current.slice(0, offset).padEnd(offset, '\0') + part;
  const value = head + current.slice(head.length);
  flatten(value);
  session.database.replace(argv[1]!, value, { offset, text: part });
  session.database.notify('string', 'setrange', argv[1]!);
  return value.length;
}

/**
 * Makes V8 copy a concatenated string into one piece, by reading a char. Before that, the string is a tree of parts,
 * which takes more memory than is counted and keeps the sources of slices alive.
 */
function flatten(value: string): void {
  value.charCodeAt(0);
}

/** A part of this length is larger than its node in the tree, so that APPEND need not copy the old value. */
const MIN_ROPE_BYTES = 256;

function assertFits(length: number): void {
  if (length <= MAX_STRING_BYTES) return;
  throw new ErrorReply('ERR string exceeds maximum allowed size (proto-max-bulk-len)');
}

function exactInteger(text: string): number | bigint {
  const value = parseInteger(text);
  if (value === undefined) throw NOT_AN_INTEGER;
  return value;
}

function decrby(session: Session, argv: readonly string[]): Reply {
  const decrement = exactInteger(argv[2]!);
  if (decrement === INT64_MIN) throw new ErrorReply('ERR decrement would overflow');
  return incrementBy(session, argv[1]!, -decrement);
}

function incrementBy(session: Session, key: string, increment: number | bigint): Reply {
  const current = exactInteger(session.database.string(key) ?? '0');
  const sum = addIntegers(current, increment);
  session.database.replace(key, String(sum));
  session.database.notify('string', 'incrby', key);
  return sum;
}

function incrbyfloat(session: Session, argv: readonly string[]): Reply {
  const sum = addLongDoubles(session.database.string(argv[1]!) ?? '0', argv[2]!);
  session.database.replace(argv[1]!, sum);
  session.database.notify('string', 'incrbyfloat', argv[1]!);
  return sum;
}

/** The value for a comparison. Throws WRONG_TYPE for a collection. */
function asString(value: Value): string {
  if (typeof value !== 'string') throw WRONG_TYPE;
  return value;
}
