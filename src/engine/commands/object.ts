import { ErrorReply, type Reply } from '../../resp/index.ts';
import type { CommandTable } from '../command.ts';
import { oneKey } from '../key-spec.ts';
import { parseInteger } from '../number.ts';
import type { Session } from '../session.ts';
import type { Value } from '../value.ts';
import { withoutUse } from '../without-use.ts';
import { container, help } from './help.ts';
import { helpLines } from './subcommand-help.ts';

const subcommands: CommandTable = {
  ENCODING: {
    arity: 3,
    keys: [oneKey('RO', 2)],
    flags: ['readonly'],
    run: (session, argv) => withValue(session, argv[2]!, encoding),
    syntax: 'key',
    summary: 'Returns the encoding that Redis would use for the value',
    since: '2.2.3',
    complexity: 'O(1)',
    tips: ['nondeterministic_output'],
  },
  FREQ: {
    arity: 3,
    keys: [oneKey('RO', 2)],
    flags: ['readonly'],
    run: (session, argv) =>
      withValue(session, argv[2]!, () => {
        throw NO_FREQUENCY;
      }),
    syntax: 'key',
    summary: 'Fails: the use of keys is not counted',
    since: '4.0.0',
    complexity: 'O(1)',
    tips: ['nondeterministic_output'],
  },
  IDLETIME: {
    arity: 3,
    keys: [oneKey('RO', 2)],
    flags: ['readonly'],
    run: idleTime,
    syntax: 'key',
    summary: 'Returns the seconds since a key was last used',
    since: '2.2.3',
    complexity: 'O(1)',
    tips: ['nondeterministic_output'],
  },
  REFCOUNT: {
    arity: 3,
    keys: [oneKey('RO', 2)],
    flags: ['readonly'],
    run: (session, argv) => withValue(session, argv[2]!, referenceCount),
    syntax: 'key',
    summary: 'Returns the reference count that Redis would have',
    since: '2.2.3',
    complexity: 'O(1)',
    tips: ['nondeterministic_output'],
  },
  HELP: help('6.2.0', () => helpLines('OBJECT', subcommands)),
};

export const object = {
  OBJECT: container(subcommands, 'Shows how a value is stored', '2.2.3'),
} as const satisfies CommandTable;

function withValue(session: Session, key: string, show: (value: Value) => Reply): Reply {
  return withoutUse(session.engine, () => {
    const value = session.database.peek(key);
    return value === undefined ? null : show(value);
  });
}

function idleTime(session: Session, argv: readonly string[]): Reply {
  return withValue(session, argv[2]!, () => session.database.idleSeconds(argv[2]!) ?? null);
}

function encoding(value: Value): string {
  if (typeof value !== 'string') return value.encoding;
  if (parseInteger(value) !== undefined) return 'int';
  return value.length <= MAX_EMBEDDED_BYTES ? 'embstr' : 'raw';
}

/** Redis shares small integers, and returns the maximum for them. */
function referenceCount(value: Value): number {
  const integer = typeof value === 'string' ? parseInteger(value) : undefined;
  return integer !== undefined && integer >= 0 && integer < 10_000 ? 2 ** 31 - 1 : 1;
}

const MAX_EMBEDDED_BYTES = 44;
const NO_FREQUENCY = new ErrorReply(
  'ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.',
);
