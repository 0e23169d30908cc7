import { ErrorReply, OK, type Reply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import { countedKeys } from '../key-spec.ts';
import { integerArgument } from '../number.ts';
import { NO_SCRIPT } from '../script.ts';
import type { Session } from '../session.ts';
import { lower, upper } from '../text.ts';
import { container, help } from './help.ts';
import { helpLines } from './subcommand-help.ts';

const SCRIPT = ['noscript', 'stale', 'skip_monitor', 'no_mandatory_keys', 'movablekeys'] as const;
const RUN = [...SCRIPT, 'may_replicate'] as const;
const RUN_READ_ONLY = ['readonly', ...SCRIPT] as const;

const subcommands: CommandTable = {
  LOAD: {
    arity: 3,
    keys: NO_KEYS,
    flags: ['noscript', 'stale'],
    run: ({ engine }, argv) => engine.scripts.load(argv[2]!),
    syntax: 'script',
    summary: 'Stores a script; returns its SHA1',
    since: '2.6.0',
    complexity: 'O(N) for a script of N bytes',
    tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
  },
  EXISTS: {
    arity: -3,
    keys: NO_KEYS,
    flags: ['noscript'],
    run: ({ engine }, argv) => argv.slice(2).map((sha) => (engine.scripts.has(lower(sha)) ? 1 : 0)),
    syntax: 'sha1 [sha1 ...]',
    summary: 'Returns for each SHA1 whether the script is stored',
    since: '2.6.0',
    complexity: 'O(N) for N scripts, O(1) for one',
    tips: ['request_policy:all_shards', 'response_policy:agg_logical_and'],
  },
  FLUSH: {
    arity: -2,
    keys: NO_KEYS,
    flags: ['noscript'],
    run: flush,
    syntax: '[ASYNC|SYNC]',
    summary: 'Removes all scripts',
    since: '2.6.0',
    complexity: 'O(N) for N scripts that are kept',
    history: [['6.2.0', 'Options ASYNC and SYNC']],
    tips: ['request_policy:all_nodes', 'response_policy:all_succeeded'],
  },
  KILL: {
    arity: 2,
    keys: NO_KEYS,
    flags: ['noscript', 'allow_busy'],
    // No other command can run while a script runs.
    run: () => new ErrorReply('NOTBUSY No scripts in execution right now.'),
    syntax: '',
    summary: 'Fails: a script is stopped by its budget only',
    since: '2.6.0',
    complexity: 'O(1)',
    tips: ['request_policy:all_shards', 'response_policy:one_succeeded'],
  },
  HELP: help('5.0.0', () => helpLines('SCRIPT', subcommands)),
};

export const scripting = {
  EVAL: {
    arity: -3,
    keys: [countedKeys(2, 'RW access update', 'What the script does with its keys is not known')],
    flags: RUN,
    run: (session, argv) => evaluate(session, argv, load, false),
    syntax: 'script numkeys [key [key ...]] [arg [arg ...]]',
    summary: 'Runs a Lua script atomically',
    since: '2.6.0',
    complexity: 'That of the script',
  },
  EVALSHA: {
    arity: -3,
    keys: [countedKeys(2, 'RW access update')],
    flags: RUN,
    run: (session, argv) => evaluateKnown(session, argv, false),
    syntax: 'sha1 numkeys [key [key ...]] [arg [arg ...]]',
    summary: 'Runs a stored script by its SHA1',
    since: '2.6.0',
    complexity: 'That of the script',
  },
  EVAL_RO: {
    arity: -3,
    keys: [countedKeys(2, 'RO access', 'What the script does with its keys is not known')],
    flags: RUN_READ_ONLY,
    run: (session, argv) => evaluate(session, argv, load, true),
    syntax: 'script numkeys [key [key ...]] [arg [arg ...]]',
    summary: 'Runs a read-only Lua script',
    since: '7.0.0',
    complexity: 'That of the script',
  },
  EVALSHA_RO: {
    arity: -3,
    keys: [countedKeys(2, 'RO access')],
    flags: RUN_READ_ONLY,
    run: (session, argv) => evaluateKnown(session, argv, true),
    syntax: 'sha1 numkeys [key [key ...]] [arg [arg ...]]',
    summary: 'Runs a read-only stored script by its SHA1',
    since: '7.0.0',
    complexity: 'That of the script',
  },
  SCRIPT: container(subcommands, 'Manages stored scripts', '2.6.0'),
} as const satisfies CommandTable;

/** As in Redis, NOSCRIPT for a malformed SHA1 comes before all other errors. */
function evaluateKnown(session: Session, argv: readonly string[], readOnly: boolean): Reply {
  if (argv[1]!.length !== 40) throw NO_SCRIPT;
  return evaluate(session, argv, asGiven, readOnly);
}

function asGiven(_session: Session, sha: string): string {
  return sha;
}

function load({ engine }: Session, source: string): string {
  return engine.scripts.load(source);
}

function evaluate(
  session: Session,
  argv: readonly string[],
  shaOf: (session: Session, text: string) => string,
  readOnly: boolean,
): Reply {
  const keyCount = integerArgument(argv[2]!);
  if (keyCount > argv.length - 3) {
    throw new ErrorReply("ERR Number of keys can't be greater than number of args");
  }
  if (keyCount < 0) throw new ErrorReply("ERR Number of keys can't be negative");
  const keys = argv.slice(3, 3 + keyCount);
  const sha = shaOf(session, argv[1]!);
  return session.engine.scripts.run(session, sha, keys, argv.slice(3 + keyCount), readOnly);
}

function flush({ engine }: Session, argv: readonly string[]): Reply {
  const mode = argv[2] === undefined ? 'SYNC' : upper(argv[2]);
  if (argv.length > 3 || (mode !== 'SYNC' && mode !== 'ASYNC')) {
    throw FLUSH_MODES;
  }
  engine.scripts.flush();
  return OK;
}

const FLUSH_MODES = new ErrorReply('ERR SCRIPT FLUSH only support SYNC|ASYNC option');
