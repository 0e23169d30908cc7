import {
  ErrorReply,
  NO_REPLY,
  OK,
  type Reply,
  SimpleReply,
  VerbatimReply,
} from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { infoText } from '../info.ts';
import { parseInteger } from '../number.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';
import { NO_SUCH_DATABASE } from './connection.ts';

export const server = {
  INFO: {
    arity: -1,
    keys: NO_KEYS,
    flags: ['loading', 'stale'],
    run: (session, argv) => new VerbatimReply('txt', infoText(session.engine, argv.slice(1))),
    syntax: '[section [section ...]]',
    summary: 'Returns information and statistics about the server',
    since: '1.0.0',
    complexity: 'O(1)',
    history: [['7.0.0', 'Accepts several sections']],
    tips: ['nondeterministic_output', 'request_policy:all_shards', 'response_policy:special'],
  },
  TIME: {
    arity: 1,
    keys: NO_KEYS,
    flags: ['loading', 'stale', 'fast'],
    run: time,
    syntax: '',
    summary: 'Returns the Unix time in seconds and the microseconds of the current second',
    since: '2.6.0',
    complexity: 'O(1)',
    tips: ['nondeterministic_output'],
  },
  MONITOR: {
    arity: 1,
    keys: NO_KEYS,
    flags: ['admin', 'noscript', 'loading', 'stale'],
    run: monitor,
    syntax: '',
    summary: 'Streams every command that the server runs',
    since: '1.0.0',
    complexity: '',
  },
  SWAPDB: {
    arity: 3,
    keys: NO_KEYS,
    flags: ['write', 'fast'],
    run: swapDatabases,
    syntax: 'index1 index2',
    summary: 'Exchanges the keys of two databases',
    since: '4.0.0',
    complexity: 'O(N) for N clients that watch keys of the two databases or wait for them',
  },
  BGREWRITEAOF: {
    arity: 1,
    keys: NO_KEYS,
    flags: ['admin', 'noscript', 'no_async_loading'],
    run: rewriteLog,
    syntax: '',
    summary: 'Rewrites the append-only file to disk',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  SHUTDOWN: {
    arity: -1,
    keys: NO_KEYS,
    flags: ['admin', 'noscript', 'loading', 'stale', 'no_multi', 'allow_busy'],
    run: shutdown,
    syntax: '[NOSAVE|SAVE] [NOW] [FORCE] [ABORT]',
    summary: 'Stops the server',
    since: '1.0.0',
    complexity: 'O(1); O(N) in Redis, if it saves N keys',
    history: [['7.0.0', 'Options NOW, FORCE and ABORT']],
  },
} as const satisfies CommandTable;

function time(session: Session): Reply {
  const microseconds = Math.floor(session.engine.wallMs() * 1000);
  return [String(Math.floor(microseconds / 1e6)), String(microseconds % 1e6)];
}

function monitor(session: Session): Reply {
  if (!session.mayBlock) {
    throw new ErrorReply("ERR MONITOR isn't allowed for DENY BLOCKING client");
  }
  if (session.monitoring) return NO_REPLY;
  session.monitoring = true;
  session.engine.monitors.add(session);
  return OK;
}

function swapDatabases(session: Session, argv: readonly string[]): Reply {
  const { engine } = session;
  const first = databaseArgument(argv[1]!, 'first');
  const second = databaseArgument(argv[2]!, 'second');
  for (const number of [first, second]) {
    if (number < 0 || number >= engine.databaseCount) throw NO_SUCH_DATABASE;
  }
  if (first !== second) engine.database(first).swap(engine.database(second));
  return OK;
}

function databaseArgument(text: string, which: 'first' | 'second'): number {
  const number = parseInteger(text);
  if (number === undefined || number < -(2 ** 31) || number >= 2 ** 31) {
    throw new ErrorReply(`ERR invalid ${which} DB index`);
  }
  return Number(number);
}

function rewriteLog(session: Session): Reply {
  const { persistence } = session.engine;
  if (persistence === undefined) throw NO_LOG;
  if (!persistence.rewrite()) {
    throw new ErrorReply('ERR Background append only file rewriting already in progress');
  }
  return new SimpleReply('Background append only file rewriting started');
}

const NO_LOG = new ErrorReply(
  'ERR There is no log to rewrite: this server keeps its data in memory only (appendonly no)',
);

/** SAVE, NOSAVE, NOW and FORCE are accepted without effect: there is no snapshot to write, and no replica. */
function shutdown(session: Session, argv: readonly string[]): Reply {
  const words = argv.slice(1).map(upper);
  for (const word of words) if (!SHUTDOWN_OPTIONS.has(word)) throw SYNTAX_ERROR;
  const options = new Set(words);
  if (options.has('SAVE') && options.has('NOSAVE')) throw SYNTAX_ERROR;
  if (options.has('ABORT')) throw options.size > 1 ? SYNTAX_ERROR : NO_SHUTDOWN;
  const { requestShutdown } = session.engine;
  if (requestShutdown === undefined) throw NO_SERVER;
  requestShutdown();
  return NO_REPLY;
}

const SHUTDOWN_OPTIONS: ReadonlySet<string> = new Set(['NOSAVE', 'SAVE', 'NOW', 'FORCE', 'ABORT']);
const NO_SHUTDOWN = new ErrorReply('ERR No shutdown in progress.');
const NO_SERVER = new ErrorReply(
  'ERR SHUTDOWN needs a server: this engine runs inside of another program',
);
