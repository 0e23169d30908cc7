import { ErrorReply, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { NEVER } from '../deadline-heap.ts';
import { INT64_MAX, NOT_AN_INTEGER } from '../errors.ts';
import { oneKey } from '../key-spec.ts';
import { parseInteger } from '../number.ts';
import type { Session } from '../session.ts';
import { lower, printed, upper } from '../text.ts';
import { deadlineOf, type TimeUnit } from '../time-argument.ts';
import { withoutUse } from '../without-use.ts';

const READ = ['readonly', 'fast'] as const;
const WRITE = ['write', 'fast'] as const;

const DEADLINE_COST = 'O(1) in Redis; O(log(N)) here, for N keys with a deadline';
const CONDITIONS = [['7.0.0', 'Options NX, XX, GT and LT']] as const;

export const expiry = {
  EXPIRE: {
    arity: -3,
    keys: [oneKey('RW update')],
    flags: WRITE,
    run: (session, argv) => expire(session, argv, 'EX'),
    syntax: 'key seconds [NX|XX|GT|LT]',
    summary: 'Sets the time to live of a key in seconds',
    since: '1.0.0',
    complexity: DEADLINE_COST,
    history: CONDITIONS,
  },
  PEXPIRE: {
    arity: -3,
    keys: [oneKey('RW update')],
    flags: WRITE,
    run: (session, argv) => expire(session, argv, 'PX'),
    syntax: 'key milliseconds [NX|XX|GT|LT]',
    summary: 'Sets the time to live of a key in milliseconds',
    since: '2.6.0',
    complexity: DEADLINE_COST,
    history: CONDITIONS,
  },
  EXPIREAT: {
    arity: -3,
    keys: [oneKey('RW update')],
    flags: WRITE,
    run: (session, argv) => expire(session, argv, 'EXAT'),
    syntax: 'key unix-time-seconds [NX|XX|GT|LT]',
    summary: 'Sets the expiry of a key to a Unix time in seconds',
    since: '1.2.0',
    complexity: DEADLINE_COST,
    history: CONDITIONS,
  },
  PEXPIREAT: {
    arity: -3,
    keys: [oneKey('RW update')],
    flags: WRITE,
    run: (session, argv) => expire(session, argv, 'PXAT'),
    syntax: 'key unix-time-milliseconds [NX|XX|GT|LT]',
    summary: 'Sets the expiry of a key to a Unix time in milliseconds',
    since: '2.6.0',
    complexity: DEADLINE_COST,
    history: CONDITIONS,
  },
  TTL: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ,
    run: (session, argv) =>
      fromDeadline(session, argv[1]!, (deadlineMs) => roundToSeconds(leftMs(session, deadlineMs))),
    syntax: 'key',
    summary: 'Returns the remaining time to live of a key in seconds',
    since: '1.0.0',
    complexity: 'O(1)',
    history: [['2.8.0', 'Returns -2 for a key that does not exist']],
    tips: ['nondeterministic_output'],
  },
  PTTL: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ,
    run: (session, argv) =>
      fromDeadline(session, argv[1]!, (deadlineMs) => leftMs(session, deadlineMs)),
    syntax: 'key',
    summary: 'Returns the remaining time to live of a key in milliseconds',
    since: '2.6.0',
    complexity: 'O(1)',
    history: [['2.8.0', 'Returns -2 for a key that does not exist']],
    tips: ['nondeterministic_output'],
  },
  EXPIRETIME: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ,
    run: (session, argv) =>
      fromDeadline(session, argv[1]!, (deadlineMs) =>
        roundToSeconds(session.engine.wallFromDeadline(deadlineMs)),
      ),
    syntax: 'key',
    summary: 'Returns the Unix time in seconds at which a key expires',
    since: '7.0.0',
    complexity: 'O(1)',
  },
  PEXPIRETIME: {
    arity: 2,
    keys: [oneKey('RO access')],
    flags: READ,
    run: (session, argv) =>
      fromDeadline(session, argv[1]!, (deadlineMs) => session.engine.wallFromDeadline(deadlineMs)),
    syntax: 'key',
    summary: 'Returns the Unix time in milliseconds at which a key expires',
    since: '7.0.0',
    complexity: 'O(1)',
  },
  PERSIST: {
    arity: 2,
    keys: [oneKey('RW update')],
    flags: WRITE,
    run: persist,
    syntax: 'key',
    summary: 'Removes the time to live of a key',
    since: '2.2.0',
    complexity: DEADLINE_COST,
  },
} as const satisfies CommandTable;

/** The replies of TTL and similar commands if there is no key, or no deadline. */
const NO_KEY = -2;
const NO_DEADLINE = -1;

type Condition = 'NX' | 'XX' | 'GT' | 'LT';

function expire(session: Session, argv: readonly string[], unit: TimeUnit): Reply {
  const conditions = parseConditions(argv);
  const amount = parseInteger(argv[2]!);
  if (amount === undefined) throw NOT_AN_INTEGER;
  const deadlineMs = deadlineOf(session, unit, amount, lower(argv[0]!));
  const { database } = session;
  const key = argv[1]!;
  if (!database.has(key)) return 0;
  if (!admits(conditions, deadlineMs, database.deadline(key))) return 0;
  if (deadlineMs <= session.engine.nowMs) {
    database.delete(key);
    database.notify('generic', 'del', key);
  } else {
    database.setDeadline(key, deadlineMs);
    database.notify('generic', 'expire', key);
  }
  return 1;
}

/** For GT and LT, a key without a deadline has an infinite one. */
function admits(conditions: ReadonlySet<Condition>, newMs: number, currentMs: number): boolean {
  if (conditions.has('NX') && currentMs !== NEVER) return false;
  if (conditions.has('XX') && currentMs === NEVER) return false;
  if (conditions.has('GT') && newMs <= currentMs) return false;
  return !(conditions.has('LT') && newMs >= currentMs);
}

function parseConditions(argv: readonly string[]): Set<Condition> {
  const conditions = new Set<Condition>();
  for (let at = 3; at < argv.length; at++) {
    const word = upper(argv[at]!);
    if (word !== 'NX' && word !== 'XX' && word !== 'GT' && word !== 'LT') {
      throw new ErrorReply(`ERR Unsupported option ${printed(argv[at]!)}`);
    }
    conditions.add(word);
  }
  if (conditions.has('NX') && conditions.size > 1) {
    throw new ErrorReply('ERR NX and XX, GT or LT options at the same time are not compatible');
  }
  if (conditions.has('GT') && conditions.has('LT')) {
    throw new ErrorReply('ERR GT and LT options at the same time are not compatible');
  }
  return conditions;
}

function fromDeadline(session: Session, key: string, show: (deadlineMs: number) => number): Reply {
  const { engine, database } = session;
  const deadlineMs = withoutUse(engine, () =>
    database.get(key) === undefined ? undefined : database.deadline(key),
  );
  if (deadlineMs === undefined) return NO_KEY;
  if (deadlineMs === NEVER) return NO_DEADLINE;
  const shown = show(deadlineMs);
  return shown < 2 ** 63 ? shown : INT64_MAX;
}

function leftMs(session: Session, deadlineMs: number): number {
  return Math.ceil(deadlineMs - session.engine.nowMs);
}

function roundToSeconds(durationMs: number): number {
  return Math.floor((durationMs + 500) / 1000);
}

function persist(session: Session, argv: readonly string[]): Reply {
  const { database } = session;
  if (database.deadline(argv[1]!) === NEVER) return 0;
  database.setDeadline(argv[1]!, NEVER);
  database.notify('generic', 'persist', argv[1]!);
  return 1;
}
