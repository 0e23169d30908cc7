import { MapReply, type Reply, VerbatimReply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { stringBytes } from '../footprint.ts';
import { oneKey } from '../key-spec.ts';
import { SLOT_BYTES } from '../keyspace.ts';
import { integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';
import { valueBytes } from '../value.ts';
import { withoutUse } from '../without-use.ts';
import { container, help } from './help.ts';
import { helpLines } from './subcommand-help.ts';

const subcommands = {
  USAGE: {
    arity: -3,
    keys: [oneKey('RO', 2)],
    flags: ['readonly'],
    run: usage,
    syntax: 'key [SAMPLES count]',
    summary: 'Estimates the bytes that a key and its value take',
    since: '4.0.0',
    complexity: 'O(N) for N samples',
  },
  STATS: {
    arity: 2,
    keys: NO_KEYS,
    flags: [],
    run: statistics,
    syntax: '',
    summary: 'Returns the memory usage by purpose',
    since: '4.0.0',
    complexity: 'O(1)',
    tips: ['nondeterministic_output', 'request_policy:all_shards', 'response_policy:special'],
  },
  DOCTOR: {
    arity: 2,
    keys: NO_KEYS,
    flags: [],
    run: () => new VerbatimReply('txt', NOTHING_TO_REPORT),
    syntax: '',
    summary: 'Returns that there are no problems',
    since: '4.0.0',
    complexity: 'O(1)',
    tips: ['nondeterministic_output', 'request_policy:all_shards', 'response_policy:special'],
  },
  HELP: help('4.0.0', (): readonly string[] => helpLines('MEMORY', subcommands)),
} as const satisfies CommandTable;

export const memory = {
  MEMORY: container(subcommands, 'Shows memory usage', '4.0.0'),
} as const satisfies CommandTable;

const NOTHING_TO_REPORT =
  'The memory belongs to the JavaScript engine, of which there is nothing to report.';

/** Returns the counted bytes of the key. Redis estimates from samples: SAMPLES is validated and ignored. */
function usage(session: Session, argv: readonly string[]): Reply {
  checkSamples(argv);
  const key = argv[2]!;
  const value = withoutUse(session.engine, () => session.database.peek(key));
  if (value === undefined) return null;
  return SLOT_BYTES + stringBytes(key) + valueBytes(value);
}

function checkSamples(argv: readonly string[]): void {
  for (let at = 3; at < argv.length; at += 2) {
    if (upper(argv[at]!) !== 'SAMPLES' || at + 1 === argv.length) throw SYNTAX_ERROR;
    if (integerArgument(argv[at + 1]!) < 0) throw SYNTAX_ERROR;
  }
}

function statistics(session: Session): Reply {
  const { memory } = session.engine;
  const keys = session.engine.usedDatabases().reduce((sum, { size }) => sum + size, 0);
  return new MapReply([
    ['peak.allocated', process.resourceUsage().maxRSS * 1024],
    ['total.allocated', memory.used.bytes],
    ['clients.normal', memory.clients.bytes],
    ['dataset.bytes', memory.data.bytes],
    ['keys.count', keys],
    ['keys.bytes-per-key', keys === 0 ? 0 : Math.floor(memory.data.bytes / keys)],
  ]);
}
