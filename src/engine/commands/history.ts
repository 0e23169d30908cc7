import { ErrorReply, type Reply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { oneKey } from '../key-spec.ts';
import type { LockEvent } from '../lock-event.ts';
import { parseInteger } from '../number.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';
import { container, help } from './help.ts';
import { helpLines } from './subcommand-help.ts';

const SINCE = '0.1.0';

const subcommands: CommandTable = {
  ALL: {
    arity: -2,
    keys: NO_KEYS,
    flags: ['admin', 'noscript', 'loading', 'stale'],
    run: ofAll,
    syntax: '[AFTER id] [COUNT count]',
    summary: 'Returns the newest events of all locks of the database, or the first after an id',
    since: SINCE,
    complexity: 'O(N) for N events that are kept',
  },
  KEY: {
    arity: -3,
    keys: [oneKey('RO', 2)],
    flags: ['readonly', 'noscript'],
    run: ofKey,
    syntax: 'key [AFTER id] [COUNT count]',
    summary: 'Returns the newest events of the lock with this key',
    since: SINCE,
    complexity: 'O(N) for N returned events',
  },
  HELP: help(SINCE, () => helpLines('HOLDFAST.HISTORY', subcommands)),
};

/** What happened to locks: see docs/history.md. Redis does not have it. */
export const history = {
  'HOLDFAST.HISTORY': container(subcommands, 'Returns what happened to locks', SINCE),
} as const satisfies CommandTable;

function ofAll(session: Session, argv: readonly string[]): Reply {
  const { engine, database } = session;
  const { afterId, count } = options(argv, 2);
  return replyOf(session, engine.lockHistory.ofAll(database.number, afterId, count));
}

function ofKey(session: Session, argv: readonly string[]): Reply {
  const { engine, database } = session;
  const { afterId = 0, count } = options(argv, 3);
  return replyOf(session, engine.lockHistory.ofLock(database.number, argv[2]!, afterId, count));
}

function options(
  argv: readonly string[],
  from: number,
): { readonly afterId: number | undefined; readonly count: number } {
  let afterId: number | undefined;
  let count = DEFAULT_COUNT;
  for (let at = from; at < argv.length; at += 2) {
    const value = argv[at + 1];
    if (value === undefined) throw SYNTAX_ERROR;
    const option = upper(argv[at]!);
    if (option === 'AFTER') afterId = wholeNumber(value, Number.MAX_SAFE_INTEGER);
    else if (option === 'COUNT') count = wholeNumber(value, MAX_COUNT);
    else throw SYNTAX_ERROR;
  }
  return { afterId, count };
}

function wholeNumber(text: string, max: number): number {
  const value = Number(parseInteger(text) ?? -1);
  if (value < 0 || value > max) {
    throw new ErrorReply(`ERR AFTER is a whole number, COUNT one up to ${MAX_COUNT}`);
  }
  return value;
}

function replyOf({ engine }: Session, events: readonly LockEvent[]): Reply {
  const { wallOffsetMs } = engine;
  return events.map(({ id, atMs, type, key, token, fence }) => {
    return [id, Math.floor(atMs + wallOffsetMs), type, key, token, fence];
  });
}

const DEFAULT_COUNT = 100;
const MAX_COUNT = 10_000;
