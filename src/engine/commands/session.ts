import { ErrorReply, OK, type Reply } from '../../resp/index.ts';
import { type Command, type CommandTable, FLAGS, NO_KEYS } from '../command.ts';
import { wrongArity } from '../errors.ts';
import { argumentBytes, stringBytes } from '../footprint.ts';
import { assertName } from '../name-map.ts';
import type { Session } from '../session.ts';
import { printed, upper } from '../text.ts';
import { container, help } from './help.ts';
import { findCommand } from './index.ts';
import { helpLines } from './subcommand-help.ts';

const SINCE = '0.1.0';
/** A script may not leave wills: what it did can be undone, a will could not. */
const NOT_FOR_SCRIPTS = ['noscript', 'loading', 'stale', 'fast'] as const;

const subcommands: CommandTable = {
  SET: {
    arity: -5,
    keys: NO_KEYS,
    flags: [...NOT_FOR_SCRIPTS, 'denyoom'],
    run: setWill,
    syntax: 'session will command [argument [argument ...]]',
    summary: 'Leaves a command to be run when the session ends',
    since: SINCE,
    complexity: 'O(1)',
  },
  DROP: {
    arity: 4,
    keys: NO_KEYS,
    flags: NOT_FOR_SCRIPTS,
    run: ({ engine }, argv) => (engine.wills.drop(argv[2]!, argv[3]!) ? 1 : 0),
    syntax: 'session will',
    summary: 'Takes a will back',
    since: SINCE,
    complexity: 'O(1)',
  },
  HELP: help(SINCE, () => helpLines('HOLDFAST.WILL', subcommands)),
};

/** What only this server has: see docs/sessions.md. */
export const session = {
  'HOLDFAST.SESSION': {
    arity: 2,
    keys: NO_KEYS,
    flags: [...NOT_FOR_SCRIPTS, 'no_multi'],
    run: openSession,
    syntax: 'session',
    summary: 'Begins a session of this name, which lives as long as the connection',
    since: SINCE,
    complexity: 'O(1)',
  },
  'HOLDFAST.WILL': container(subcommands, 'Says what to do when a session ends', SINCE),
} as const satisfies CommandTable;

function openSession(session: Session, argv: readonly string[]): Reply {
  const id = argv[1]!;
  if (id === '' || id.length > LONGEST_ID) throw BAD_ID;
  session.engine.wills.open(session, id);
  return OK;
}

function setWill({ engine, database }: Session, argv: readonly string[]): Reply {
  const [, , id, willId, ...words] = argv;
  const command = findCommand(words);
  if (command instanceof ErrorReply) throw command;
  if (!command.takes(words.length)) throw wrongArity(command.name);
  if (!canBeWill(command)) {
    throw new ErrorReply(`ERR ${printed(upper(command.name))} cannot be a will`);
  }
  assertName(willId!);
  const bytes = WILL_BYTES + stringBytes(willId!) + argumentBytes(words);
  const script = scriptOf(engine, command, words);
  const run = script === '' ? words : [command.name.replace('sha', ''), script, ...words.slice(2)];
  engine.wills.set(id!, willId!, { argv: run, script, database, bytes });
  return OK;
}

/** What a script may call, and scripts themselves; nothing that waits, subscribes or changes a connection. */
function canBeWill(command: Command): boolean {
  const isScript = command.group === 'scripting' && !command.name.includes('|');
  return (isScript || !command.has('noscript')) && (command.bits & FLAGS.blocking) === 0;
}

/** The text of a script that is named by its SHA1, looked up now, so that SCRIPT FLUSH does not undo the will. */
function scriptOf(
  { scripts }: Session['engine'],
  { name }: Command,
  words: readonly string[],
): string {
  return name.startsWith('evalsha') ? scripts.textOf(words[1]!) : '';
}

/** A will without its words: its entry, its object and their array. */
const WILL_BYTES = 200;
const LONGEST_ID = 256;
const BAD_ID = new ErrorReply(`ERR The name of a session has 1 to ${LONGEST_ID} bytes`);
