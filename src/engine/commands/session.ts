import { ErrorReply, OK, type Reply } from '../../resp/index.ts';
import { denialReply } from '../acl/acl.ts';
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
/** Not allowed in scripts: an exit command would stay when the script is rolled back. */
const NOT_FOR_SCRIPTS = ['noscript', 'loading', 'stale', 'fast'] as const;

const subcommands: CommandTable = {
  SET: {
    arity: -5,
    keys: NO_KEYS,
    flags: [...NOT_FOR_SCRIPTS, 'denyoom'],
    run: setExitCommand,
    syntax: 'session will command [argument [argument ...]]',
    summary: 'Adds a command that runs when the session ends',
    since: SINCE,
    complexity: 'O(1)',
  },
  DROP: {
    arity: 4,
    keys: NO_KEYS,
    flags: NOT_FOR_SCRIPTS,
    run: ({ engine }, argv) => (engine.exitCommands.drop(argv[2]!, argv[3]!) ? 1 : 0),
    syntax: 'session will',
    summary: 'Removes a will; returns 1, or 0 if there is none',
    since: SINCE,
    complexity: 'O(1)',
  },
  HELP: help(SINCE, () => helpLines('HOLDFAST.WILL', subcommands)),
};

/** Commands that Redis does not have: see docs/sessions.md. */
export const session = {
  'HOLDFAST.SESSION': {
    arity: 2,
    keys: NO_KEYS,
    flags: [...NOT_FOR_SCRIPTS, 'no_multi'],
    run: openSession,
    syntax: 'session',
    summary: 'Opens a session of this name, which ends with the connection',
    since: SINCE,
    complexity: 'O(1)',
  },
  'HOLDFAST.WILL': container(
    subcommands,
    'Manages the commands that run when a session ends',
    SINCE,
  ),
} as const satisfies CommandTable;

function openSession(session: Session, argv: readonly string[]): Reply {
  const id = argv[1]!;
  if (id === '' || id.length > MAX_ID_BYTES) throw BAD_ID;
  session.engine.exitCommands.open(session, id);
  return OK;
}

function setExitCommand(session: Session, argv: readonly string[]): Reply {
  const { engine, database, user } = session;
  const [, , id, commandId, ...args] = argv;
  const command = findCommand(args);
  if (command instanceof ErrorReply) throw command;
  if (!command.takes(args.length)) throw wrongArity(command.name);
  if (!canRunAtExit(command)) {
    throw new ErrorReply(`ERR ${printed(upper(command.name))} cannot be a will`);
  }
  assertMayRun(session, args);
  assertName(commandId!);
  const bytes = EXIT_COMMAND_BYTES + stringBytes(commandId!) + argumentBytes(args);
  const script = scriptOf(engine, command, args);
  const run = script === '' ? args : [command.name.replace('sha', ''), script, ...args.slice(2)];
  if (script !== '') assertMayRun(session, run);
  engine.exitCommands.set(id!, commandId!, { argv: run, script, database, user, bytes });
  return OK;
}

/** Checks the rights of the session's user when it adds a command. They are checked again when the command runs. */
function assertMayRun(session: Session, argv: readonly string[]): void {
  const command = findCommand(argv) as Command;
  const denial = session.engine.acl.refusal(session, command, argv, 'toplevel');
  if (denial !== undefined) throw denialReply(command, denial);
}

/** Commands that a script may call, and scripts. Not commands that block, subscribe or change a connection. */
function canRunAtExit(command: Command): boolean {
  const isScript = command.group === 'scripting' && !command.name.includes('|');
  return (isScript || !command.has('noscript')) && (command.bits & FLAGS.blocking) === 0;
}

/** The script of EVALSHA, read now, so that the exit command still runs after SCRIPT FLUSH; else empty. */
function scriptOf(
  { scripts }: Session['engine'],
  { name }: Command,
  args: readonly string[],
): string {
  return name.startsWith('evalsha') ? scripts.textOf(args[1]!) : '';
}

/** The memory of an exit command beside its arguments: its map entry, object and array. */
const EXIT_COMMAND_BYTES = 200;
const MAX_ID_BYTES = 256;
const BAD_ID = new ErrorReply(`ERR The name of a session has 1 to ${MAX_ID_BYTES} bytes`);
