import {
  ErrorReply,
  NULL_ARRAY,
  OK,
  type Reply,
  replyBytes,
  WriteLimitError,
} from '../../resp/index.ts';
import { type CommandTable, NO_KEYS, type Outcome } from '../command.ts';
import { call } from '../execute.ts';
import { argumentBytes, stringBytes } from '../footprint.ts';
import { keysUpTo } from '../key-spec.ts';
import { assertName } from '../name-map.ts';
import type { QueuedCommand, Session } from '../session.ts';

const FLAGS = ['noscript', 'loading', 'stale', 'fast', 'allow_busy'] as const;

export const transactions = {
  MULTI: {
    arity: 1,
    keys: NO_KEYS,
    flags: FLAGS,
    run: multi,
    actsInMulti: true,
    syntax: '',
    summary: 'Starts a transaction: the commands that follow are queued',
    since: '1.2.0',
    complexity: 'O(1)',
  },
  EXEC: {
    arity: 1,
    keys: NO_KEYS,
    flags: ['noscript', 'loading', 'stale', 'skip_slowlog'],
    run: exec,
    actsInMulti: true,
    syntax: '',
    summary: 'Runs the queued commands atomically',
    since: '1.2.0',
    complexity: 'That of the queued commands',
  },
  DISCARD: {
    arity: 1,
    keys: NO_KEYS,
    flags: FLAGS,
    run: discard,
    actsInMulti: true,
    syntax: '',
    summary: 'Drops the queued commands and the watched keys',
    since: '2.0.0',
    complexity: 'O(N) for N queued commands',
  },
  WATCH: {
    arity: -2,
    keys: [keysUpTo(-1, 'RO')],
    flags: FLAGS,
    run: watch,
    actsInMulti: true,
    syntax: 'key [key ...]',
    summary: 'Makes the next EXEC fail if one of the keys changes before it',
    since: '2.2.0',
    complexity: 'O(1) for each key',
  },
  UNWATCH: {
    arity: 1,
    keys: NO_KEYS,
    flags: FLAGS,
    run: unwatch,
    syntax: '',
    summary: 'Stops watching all keys',
    since: '2.2.0',
    complexity: 'O(1)',
  },
} as const satisfies CommandTable;

function multi(session: Session): Reply {
  if (session.queue !== null) throw new ErrorReply('ERR MULTI calls can not be nested');
  session.queue = [];
  return OK;
}

function exec(session: Session): Reply {
  const { queue } = session;
  if (queue === null) throw new ErrorReply('ERR EXEC without MULTI');
  const refusal = refusalToExec(session);
  session.discardTransaction();
  if (refusal !== undefined) return refusal;
  const mayBlock = session.mayBlock;
  session.mayBlock = false;
  try {
    return runAll(session, queue);
  } finally {
    session.mayBlock = mayBlock;
  }
}

/**
 * Runs all commands. When their replies exceed the output limit, the client will be closed and get none of them, so
 * that the remaining commands that only read are skipped. Throws WriteLimitError then.
 */
function runAll(session: Session, queue: readonly QueuedCommand[]): Reply {
  const limitBytes = session.engine.memory.clients.maxClientBytes;
  const replies: Reply[] = [];
  let bytes = 0;
  for (const { command, argv } of queue) {
    if (bytes > limitBytes && command.has('readonly')) continue;
    const reply = stillDenied(session, { command, argv }) ?? atOnce(call(session, command, argv));
    bytes += replyBytes(reply);
    if (bytes <= limitBytes) replies.push(reply);
    else replies.length = 0;
  }
  if (bytes > limitBytes) throw new WriteLimitError(limitBytes);
  return replies;
}

/** Rights are checked again, because they may have changed since the command was queued. */
function stillDenied(session: Session, { command, argv }: QueuedCommand): ErrorReply | undefined {
  if (!session.user.mustCheck(command)) return undefined;
  const denial = session.engine.acl.refusal(session, command, argv, 'multi');
  return denial && DENIED[denial.reason];
}

function refusalToExec(session: Session): Reply | undefined {
  if (session.queueBroken) {
    return new ErrorReply('EXECABORT Transaction discarded because of previous errors.');
  }
  // Looking a watched key up expires it if its deadline has passed, which breaks the watch.
  for (const [database, keys] of session.watched) for (const key of keys) database.has(key);
  return session.watchBroken ? NULL_ARRAY : undefined;
}

/** No command returns BLOCKED here, because `mayBlock` is false. */
function atOnce(outcome: Outcome): Reply {
  if (typeof outcome === 'symbol') throw new Error('a command blocked inside EXEC');
  return outcome;
}

function discard(session: Session): Reply {
  if (session.queue === null) throw new ErrorReply('ERR DISCARD without MULTI');
  session.discardTransaction();
  return OK;
}

function watch(session: Session, argv: readonly string[]): Reply {
  if (session.queue !== null) throw new ErrorReply('ERR WATCH inside MULTI is not allowed');
  for (let at = 1; at < argv.length; at++) assertName(argv[at]!);
  const { database } = session;
  const keys = session.watched.get(database) ?? new Set();
  session.watched.set(database, keys);
  session.memory.reserve(argv.length * WATCH_BYTES + argumentBytes(argv));
  for (let at = 1; at < argv.length; at++) {
    // Expires the key first: an expiry before WATCH is not a change.
    database.has(argv[at]!);
    if (keys.has(argv[at]!)) continue;
    session.memory.add('watches', WATCH_BYTES + stringBytes(argv[at]!));
    keys.add(argv[at]!);
    database.watch(argv[at]!, session);
  }
  return OK;
}

function unwatch(session: Session): Reply {
  session.unwatchAll();
  return OK;
}

const CHANGED =
  'NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This command is no longer allowed for the following reason:';
const DENIED = {
  command: new ErrorReply(`${CHANGED} no permission to execute the command or subcommand`),
  key: new ErrorReply(`${CHANGED} no permission to touch the specified keys`),
  channel: new ErrorReply(
    `${CHANGED} no permission to access one of the channels used as arguments`,
  ),
} as const;

/** The memory of a watch: entries in the session's Set and in the database's table of watchers. */
const WATCH_BYTES = 300;
