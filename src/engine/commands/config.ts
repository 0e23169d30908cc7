import { ErrorReply, MapReply, OK, type Reply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import type { Session } from '../session.ts';
import { container, help } from './help.ts';
import { helpLines } from './subcommand-help.ts';

const ADMIN = ['admin', 'noscript', 'loading', 'stale'] as const;

const subcommands = {
  GET: {
    arity: -3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: get,
    syntax: 'parameter [parameter ...]',
    summary: 'Returns the settings whose names match the patterns',
    since: '2.0.0',
    complexity: 'O(N) for N patterns',
    history: [['7.0.0', 'Accepts several patterns']],
  },
  SET: {
    arity: -4,
    keys: NO_KEYS,
    flags: ADMIN,
    run: set,
    syntax: 'parameter value [parameter value ...]',
    summary: 'Changes all of the settings, or none on an error',
    since: '2.0.0',
    complexity: 'O(N) for N settings',
    history: [['7.0.0', 'Changes several settings at once']],
    tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
  },
  RESETSTAT: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: resetStatistics,
    syntax: '',
    summary: 'Sets the counters of INFO to zero',
    since: '2.0.0',
    complexity: 'O(1)',
  },
  REWRITE: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: rewrite,
    syntax: '',
    summary: 'Writes changed settings to the configuration file of the server',
    since: '2.8.0',
    complexity: 'O(1)',
  },
  HELP: help('5.0.0', (): readonly string[] => helpLines('CONFIG', subcommands)),
} as const satisfies CommandTable;

export const config = {
  CONFIG: container(subcommands, 'Shows and changes settings', '2.0.0'),
} as const satisfies CommandTable;

function get(session: Session, argv: readonly string[]): Reply {
  return new MapReply([...session.engine.settings.matching(argv.slice(2))]);
}

function set(session: Session, argv: readonly string[]): Reply {
  session.engine.settings.change(argv.slice(2));
  return OK;
}

function resetStatistics(session: Session): Reply {
  session.engine.statistics.reset();
  return OK;
}

function rewrite({ engine }: Session): Reply {
  if (engine.rewriteConfig === undefined) {
    throw new ErrorReply('ERR The server is running without a config file');
  }
  try {
    engine.rewriteConfig();
  } catch (error) {
    throw new ErrorReply(`ERR Rewriting config file: ${(error as Error).message}`);
  }
  return OK;
}
