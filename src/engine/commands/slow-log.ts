import { ErrorReply, OK, type Reply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import { parseInteger } from '../number.ts';
import type { Session } from '../session.ts';
import type { SlowLogEntry } from '../slow-log.ts';
import { container, help } from './help.ts';
import { helpLines, wrongSubcommand } from './subcommand-help.ts';

const ADMIN = ['admin', 'loading', 'stale'] as const;

const subcommands = {
  GET: {
    arity: -2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: get,
    syntax: '[count]',
    summary: 'Returns the newest entries of the slow log; 10 by default, all with -1',
    since: '2.2.12',
    complexity: 'O(N) for N returned entries',
    history: [['4.0.0', 'Shows the address and the name of the client']],
    tips: ['request_policy:all_nodes', 'nondeterministic_output'],
  },
  LEN: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: (session) => session.engine.slowLog.entries.length,
    syntax: '',
    summary: 'Returns the number of entries',
    since: '2.2.12',
    complexity: 'O(1)',
    tips: ['request_policy:all_nodes', 'response_policy:agg_sum', 'nondeterministic_output'],
  },
  RESET: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: reset,
    syntax: '',
    summary: 'Removes all entries',
    since: '2.2.12',
    complexity: 'O(N) for N entries',
    tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
  },
  HELP: help('6.2.0', (): readonly string[] => helpLines('SLOWLOG', subcommands)),
} as const satisfies CommandTable;

export const slowLog = {
  SLOWLOG: container(subcommands, 'Shows the slow log', '2.2.12'),
} as const satisfies CommandTable;

const SHOWN_UNLESS_ASKED = 10;

function get(session: Session, argv: readonly string[]): Reply {
  if (argv.length > 3) throw wrongSubcommand(argv);
  const count = argv.length > 2 ? countArgument(argv[2]!) : SHOWN_UNLESS_ASKED;
  return session.engine.slowLog.entries.slice(0, count).map(entryReply);
}

function countArgument(text: string): number {
  const count = parseInteger(text);
  if (count === undefined || count < -1) {
    throw new ErrorReply('ERR count should be greater than or equal to -1');
  }
  return count === -1 ? Number.POSITIVE_INFINITY : Number(count);
}

function entryReply({ id, unixSeconds, durationMs, argv, address, name }: SlowLogEntry): Reply {
  return [id, unixSeconds, Math.round(durationMs * 1000), argv, address, name];
}

function reset(session: Session): Reply {
  session.engine.slowLog.reset();
  return OK;
}
