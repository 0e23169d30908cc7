import { DoubleReply, ErrorReply, MapReply, OK, type Reply, SetReply } from '../../resp/index.ts';
import { CATEGORY_NAMES, commandsOfCategory } from '../acl/command-rights.ts';
import { flagsOf } from '../acl/rules.ts';
import type { Denial, Selector } from '../acl/selector.ts';
import { type Command, type CommandTable, NO_KEYS } from '../command.ts';
import { wrongArity } from '../errors.ts';
import { formatFloat64, integerArgument } from '../number.ts';
import type { Session } from '../session.ts';
import { printed, upper } from '../text.ts';
import { container, help } from './help.ts';
import { findCommand } from './index.ts';
import { helpLines, wrongSubcommand } from './subcommand-help.ts';

const ADMIN = ['admin', 'noscript', 'loading', 'stale'] as const;
const OPEN = ['noscript', 'loading', 'stale'] as const;

const subcommands: CommandTable = {
  CAT: {
    arity: -2,
    keys: NO_KEYS,
    flags: OPEN,
    run: cat,
    syntax: '[categoryname]',
    summary: 'Returns the categories, or the commands of one',
    since: '6.0.0',
    complexity: 'O(1)',
  },
  DELUSER: {
    arity: -3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: (session, argv) => session.engine.acl.deleteUsers(session, argv.slice(2)),
    syntax: 'username [username ...]',
    summary: 'Deletes users and closes their connections; returns how many',
    since: '6.0.0',
    complexity: 'O(1) for a user with few connections',
  },
  DRYRUN: {
    arity: -4,
    keys: NO_KEYS,
    flags: ADMIN,
    run: dryRun,
    syntax: 'username command [arg [arg ...]]',
    summary: 'Returns whether a user may run a command, without running it',
    since: '7.0.0',
    complexity: 'O(1)',
  },
  GENPASS: {
    arity: -2,
    keys: NO_KEYS,
    flags: OPEN,
    run: generatePassword,
    syntax: '[bits]',
    summary: 'Returns a random password of 256 bits, or of another size',
    since: '6.0.0',
    complexity: 'O(1)',
  },
  GETUSER: {
    arity: 3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: getUser,
    syntax: 'username',
    summary: 'Returns the rules of a user',
    since: '6.0.0',
    complexity: 'O(N) for N rules of the user',
    history: [
      ['6.2.0', 'Shows channel patterns'],
      ['7.0.0', 'Shows selectors, and key and channel patterns as rules'],
    ],
  },
  LIST: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: ({ engine }) => engine.acl.lines(),
    syntax: '',
    summary: 'Returns all users as the lines of an ACL file',
    since: '6.0.0',
    complexity: 'O(N) for N users',
  },
  LOAD: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: load,
    syntax: '',
    summary: 'Replaces all users by those of the ACL file',
    since: '6.0.0',
    complexity: 'O(N) for N users',
  },
  LOG: {
    arity: -2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: log,
    syntax: '[count|RESET]',
    summary: 'Returns the newest refused requests, 10 by default, or removes all',
    since: '6.0.0',
    complexity: 'O(N) for N returned entries',
  },
  SAVE: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: save,
    syntax: '',
    summary: 'Writes all users to the ACL file',
    since: '6.0.0',
    complexity: 'O(N) for N users',
  },
  SETUSER: {
    arity: -3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: setUser,
    syntax: 'username [rule [rule ...]]',
    summary: 'Creates a user, or changes its rules',
    since: '6.0.0',
    complexity: 'O(N) for N rules',
    history: [
      ['6.2.0', 'Channel patterns'],
      ['7.0.0', 'Selectors, and patterns of keys to read or to write'],
    ],
  },
  USERS: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: ({ engine }) => engine.acl.users.map(({ name }) => name),
    syntax: '',
    summary: 'Returns the names of all users',
    since: '6.0.0',
    complexity: 'O(N) for N users',
  },
  WHOAMI: {
    arity: 2,
    keys: NO_KEYS,
    flags: OPEN,
    run: ({ user }) => user.name,
    syntax: '',
    summary: 'Returns the user of this connection',
    since: '6.0.0',
    complexity: 'O(1)',
  },
  HELP: help('6.0.0', (): readonly string[] => helpLines('ACL', subcommands)),
};

export const acl = {
  ACL: container(subcommands, 'Manages users and their rights', '6.0.0'),
} as const satisfies CommandTable;

function cat(_session: Session, argv: readonly string[]): Reply {
  if (argv.length > 3) throw wrongSubcommand(argv);
  if (argv.length === 2) return [...CATEGORY_NAMES];
  const names = commandsOfCategory(argv[2]!);
  if (names === undefined) throw new ErrorReply(`ERR Unknown category '${printed(argv[2]!)}'`);
  return names;
}

function setUser(session: Session, argv: readonly string[]): Reply {
  session.engine.acl.setUser(session, argv[2]!, argv.slice(3));
  return OK;
}

function load(session: Session): Reply {
  session.engine.acl.load(session);
  return OK;
}

function save({ engine }: Session): Reply {
  engine.acl.save();
  return OK;
}

function getUser({ engine }: Session, argv: readonly string[]): Reply {
  const user = engine.acl.find(argv[2]!);
  if (user === undefined) return null;
  const { state } = user;
  return new MapReply([
    ['flags', new SetReply(flagsOf(state))],
    ['passwords', state.passwords],
    ...selectorFields(state.root),
    ['selectors', state.selectors.map((each) => new MapReply(selectorFields(each)))],
  ]);
}

function selectorFields({ commands, keyRules, channelRules }: Selector): [string, Reply][] {
  return [
    ['commands', commands.text],
    ['keys', keyRules.join(' ')],
    ['channels', channelRules.join(' ')],
  ];
}

function dryRun({ engine }: Session, argv: readonly string[]): Reply {
  const [, , name, ...request] = argv;
  const user = engine.acl.find(name!);
  if (user === undefined) throw new ErrorReply(`ERR User '${printed(name!)}' not found`);
  const command = findCommand(request);
  if (command instanceof ErrorReply) {
    throw new ErrorReply(`ERR Command '${printed(request[0]!)}' not found`);
  }
  if (!command.takes(request.length)) throw wrongArity(command.name);
  const denial = engine.acl.denial(user, command, request);
  return denial === undefined ? OK : denialText(command, request, denial);
}

function denialText({ name }: Command, argv: readonly string[], { reason, at }: Denial): string {
  if (reason === 'command') return `This user has no permissions to run the '${name}' command`;
  return `This user has no permissions to access the '${printed(argv[at]!)}' ${reason}`;
}

const DEFAULT_BITS = 256;
const MAX_BITS = 4096;

function generatePassword({ engine }: Session, argv: readonly string[]): Reply {
  if (argv.length > 3) throw wrongSubcommand(argv);
  const bits = argv.length === 3 ? Number(integerArgument(argv[2]!)) : DEFAULT_BITS;
  if (bits <= 0 || bits > MAX_BITS) {
    throw new ErrorReply(
      `ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to ${MAX_BITS}`,
    );
  }
  const digits = Math.ceil(bits / 4);
  const bytes = engine.random.bytes(Math.ceil(digits / 2));
  return Buffer.from(bytes).toString('hex').slice(0, digits);
}

const SHOWN_UNLESS_ASKED = 10;

function log({ engine }: Session, argv: readonly string[]): Reply {
  if (argv.length > 3) throw wrongSubcommand(argv);
  const { log: entries } = engine.acl;
  if (argv.length === 3 && upper(argv[2]!) === 'RESET') {
    entries.reset();
    return OK;
  }
  const count = argv.length === 3 ? Number(integerArgument(argv[2]!)) : SHOWN_UNLESS_ASKED;
  return entries.entries.slice(0, Math.max(0, count)).map((entry) => {
    const ageSeconds = Math.round(engine.nowMs - entry.lastMs) / 1000;
    return new MapReply([
      ['count', entry.count],
      ['reason', entry.reason],
      ['context', entry.context],
      ['object', entry.object],
      ['username', entry.user],
      ['age-seconds', new DoubleReply(ageSeconds, formatFloat64(ageSeconds))],
      ['client-info', entry.client],
    ]);
  });
}
