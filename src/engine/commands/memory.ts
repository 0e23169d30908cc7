import { MapReply, type Reply, VerbatimReply } from '../../resp/index.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { upper } from '../text.ts';
import type { Collection, Value } from '../value.ts';
import { container, help } from './help.ts';
import { helpLines } from './subcommand-help.ts';

const subcommands = {
  USAGE: {
    arity: -3,
    keys: [2, 2, 1],
    flags: ['readonly'],
    run: usage,
    syntax: 'key [SAMPLES count]',
    summary: 'Estimates the bytes that a key and its value take',
    since: '4.0.0',
  },
  STATS: {
    arity: 2,
    keys: NO_KEYS,
    flags: [],
    run: statistics,
    syntax: '',
    summary: 'Returns how much memory is used',
    since: '4.0.0',
  },
  DOCTOR: {
    arity: 2,
    keys: NO_KEYS,
    flags: [],
    run: () => new VerbatimReply('txt', NOTHING_TO_REPORT),
    syntax: '',
    summary: 'Answers that there is nothing to report',
    since: '4.0.0',
  },
  HELP: help((): readonly string[] => helpLines('MEMORY', subcommands)),
} as const satisfies CommandTable;

export const memory = {
  MEMORY: container(subcommands, 'Tells how much memory is used', '4.0.0'),
} as const satisfies CommandTable;

const NOTHING_TO_REPORT =
  'The memory belongs to the JavaScript engine, of which there is nothing to report.';

/** A key's slot: its entry in the index, its places in the columns of keys, values and deadlines. */
const KEY_BYTES = 48;
/** What V8 needs for a string beside its chars. */
const STRING_BYTES = 16;
const COLLECTION_BYTES = 160;
/** Beside the element's own strings: slots, index, score. */
const ELEMENT_BYTES = { hash: 40, list: 8, set: 32, zset: 64 } as const;
const SAMPLES_UNLESS_ASKED = 5;

function usage(session: Session, argv: readonly string[]): Reply {
  const samples = samplesArgument(argv);
  const key = argv[2]!;
  const value = session.database.peek(key);
  return value === undefined ? null : KEY_BYTES + stringBytes(key) + valueBytes(value, samples);
}

function samplesArgument(argv: readonly string[]): number {
  let samples = SAMPLES_UNLESS_ASKED;
  for (let at = 3; at < argv.length; at += 2) {
    if (upper(argv[at]!) !== 'SAMPLES' || at + 1 === argv.length) throw SYNTAX_ERROR;
    samples = integerArgument(argv[at + 1]!);
    if (samples < 0) throw SYNTAX_ERROR;
  }
  return samples === 0 ? Number.POSITIVE_INFINITY : samples;
}

function stringBytes(text: string): number {
  return STRING_BYTES + text.length;
}

function valueBytes(value: Value, samples: number): number {
  if (typeof value === 'string') return stringBytes(value);
  const sampled = Math.min(samples, value.size);
  let contentBytes = 0;
  for (let at = 0; at < sampled; at++) contentBytes += contentBytesAt(value, at);
  const meanBytes = sampled === 0 ? 0 : contentBytes / sampled;
  return COLLECTION_BYTES + Math.round(value.size * (ELEMENT_BYTES[value.type] + meanBytes));
}

function contentBytesAt(value: Collection, at: number): number {
  switch (value.type) {
    case 'hash':
      return stringBytes(value.fields()[at]!) + stringBytes(value.values()[at]!);
    case 'list':
      return stringBytes(value.at(at));
    case 'set':
      return stringBytes(value.memberAt(at));
    case 'zset':
      return stringBytes(value.members()[at]!);
  }
}

function statistics(session: Session): Reply {
  const { heapUsed, external } = process.memoryUsage();
  const keys = session.engine.usedDatabases().reduce((sum, { size }) => sum + size, 0);
  return new MapReply([
    ['peak.allocated', process.resourceUsage().maxRSS * 1024],
    ['total.allocated', heapUsed + external],
    ['keys.count', keys],
    ['keys.bytes-per-key', keys === 0 ? 0 : Math.floor((heapUsed + external) / keys)],
  ]);
}
