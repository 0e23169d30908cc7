import {
  ErrorReply,
  MapReply,
  NO_REPLY,
  OK,
  type Reply,
  SetReply,
  VerbatimReply,
} from '../../resp/index.ts';
import { clientLine, clientType } from '../client-line.ts';
import { type CommandTable, NO_KEYS } from '../command.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { integerArgument } from '../number.ts';
import type { PauseMode } from '../pause.ts';
import type { Session } from '../session.ts';
import { printed, upper } from '../text.ts';
import { killClients } from './client-kill.ts';
import { assertClientName } from './client-name.ts';
import { clientTypeArgument } from './client-type.ts';
import { container, help } from './help.ts';
import { helpLines, wrongSubcommand } from './subcommand-help.ts';
import { waitMsArgument } from './wait-time.ts';

const OWN = ['noscript', 'loading', 'stale'] as const;
const ADMIN = ['admin', 'noscript', 'loading', 'stale'] as const;

const subcommands = {
  ID: {
    arity: 2,
    keys: NO_KEYS,
    flags: OWN,
    run: (session) => session.id,
    syntax: '',
    summary: 'Returns the id of this connection',
    since: '5.0.0',
    complexity: 'O(1)',
  },
  INFO: {
    arity: 2,
    keys: NO_KEYS,
    flags: OWN,
    run: (session) => listing([session]),
    syntax: '',
    summary: 'Describes this connection',
    since: '6.2.0',
    complexity: 'O(1)',
    tips: ['nondeterministic_output'],
  },
  LIST: {
    arity: -2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: (session, argv) => listing(selectedClients(session, argv)),
    syntax: '[TYPE <NORMAL|MASTER|REPLICA|PUBSUB>] [ID client-id [client-id ...]]',
    summary: 'Describes all connections, those of a type, or those with the ids',
    since: '2.4.0',
    complexity: 'O(N) for N connections',
    history: [
      ['2.8.12', 'Field id'],
      ['5.0.0', 'Option TYPE'],
      ['6.0.0', 'Field user'],
      ['6.2.0', 'Fields argv-mem, tot-mem, laddr and redir; option ID'],
      ['7.0.0', 'Fields resp, multi-mem, rbs and rbp'],
      ['7.0.3', 'Field ssub'],
    ],
    tips: ['nondeterministic_output'],
  },
  KILL: {
    arity: -3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: killClients,
    syntax:
      '<ip:port|[ID client-id] [TYPE <NORMAL|MASTER|SLAVE|REPLICA|PUBSUB>] [USER username] [ADDR ip:port] [LADDR ip:port] [SKIPME yes/no]>',
    summary: 'Ends the connections that match every filter',
    since: '2.4.0',
    complexity: 'O(N) for N connections',
    history: [
      ['2.8.12', 'Filters by name and value'],
      ['2.8.12', 'Filter ID'],
      ['3.2.0', 'Type master'],
      ['5.0.0', 'Type replica, beside its older name slave'],
      ['6.2.0', 'Filter LADDR'],
    ],
  },
  GETNAME: {
    arity: 2,
    keys: NO_KEYS,
    flags: OWN,
    run: (session) => (session.name === '' ? null : session.name),
    syntax: '',
    summary: 'Returns the name of this connection',
    since: '2.6.9',
    complexity: 'O(1)',
  },
  SETNAME: {
    arity: 3,
    keys: NO_KEYS,
    flags: OWN,
    run: setName,
    syntax: 'connection-name',
    summary: 'Sets the name of this connection',
    since: '2.6.9',
    complexity: 'O(1)',
  },
  SETINFO: {
    arity: 4,
    keys: NO_KEYS,
    flags: OWN,
    run: setInfo,
    syntax: '<LIB-NAME libname|LIB-VER libver>',
    summary: 'Sets the library name or version of this connection (as in Redis 7.2)',
    since: '7.2.0',
    complexity: 'O(1)',
  },
  PAUSE: {
    arity: -3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: pause,
    syntax: 'timeout [WRITE|ALL]',
    summary: 'Delays the commands of all clients for a time',
    since: '2.9.50',
    complexity: 'O(1)',
    history: [['6.2.0', 'Modes WRITE and ALL']],
  },
  UNPAUSE: {
    arity: 2,
    keys: NO_KEYS,
    flags: ADMIN,
    run: unpause,
    syntax: '',
    summary: 'Ends a pause',
    since: '6.2.0',
    complexity: 'O(N) for N paused clients',
  },
  REPLY: {
    arity: 3,
    keys: NO_KEYS,
    flags: OWN,
    run: reply,
    syntax: '<ON|OFF|SKIP>',
    summary: 'Sets whether the server sends replies to this connection',
    since: '3.2.0',
    complexity: 'O(1)',
  },
  UNBLOCK: {
    arity: -3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: unblock,
    syntax: 'client-id [TIMEOUT|ERROR]',
    summary: 'Unblocks a client, as by its timeout or with an error',
    since: '5.0.0',
    complexity: 'O(log(N)) for N connections',
  },
  'NO-EVICT': {
    arity: 3,
    keys: NO_KEYS,
    flags: ADMIN,
    run: (session, argv) => choose(session, 'noEvict', argv[2]!),
    syntax: '<ON|OFF>',
    summary: 'Accepted without effect: a client cannot exempt itself from eviction',
    since: '7.0.0',
    complexity: 'O(1)',
  },
  'NO-TOUCH': {
    arity: 3,
    keys: NO_KEYS,
    flags: OWN,
    run: (session, argv) => choose(session, 'noTouch', argv[2]!),
    syntax: '<ON|OFF>',
    summary:
      'Sets whether commands of this connection change the last use of keys (as in Redis 7.2)',
    since: '7.2.0',
    complexity: 'O(1)',
  },
  GETREDIR: {
    arity: 2,
    keys: NO_KEYS,
    flags: OWN,
    run: () => -1,
    syntax: '',
    summary: 'Returns -1: tracking is not supported',
    since: '6.0.0',
    complexity: 'O(1)',
  },
  TRACKINGINFO: {
    arity: 2,
    keys: NO_KEYS,
    flags: OWN,
    run: trackingInfo,
    syntax: '',
    summary: 'Returns that tracking is off',
    since: '6.2.0',
    complexity: 'O(1)',
  },
  HELP: help('5.0.0', (): readonly string[] => helpLines('CLIENT', subcommands)),
} as const satisfies CommandTable;

export const client = {
  CLIENT: container(subcommands, 'Shows and manages client connections', '2.4.0'),
} as const satisfies CommandTable;

function listing(sessions: readonly Session[]): Reply {
  return new VerbatimReply('txt', sessions.map((each) => `${clientLine(each)}\n`).join(''));
}

function selectedClients(session: Session, argv: readonly string[]): Session[] {
  const { sessions } = session.engine;
  const option = argv.length > 3 ? upper(argv[2]!) : '';
  if (argv.length === 2) return [...sessions.values()];
  if (option === 'TYPE' && argv.length === 4) {
    const type = clientTypeArgument(argv[3]!);
    return [...sessions.values()].filter((each) => clientType(each) === type);
  }
  if (option !== 'ID') throw SYNTAX_ERROR;
  const ids = new Set(argv.slice(3).map((text) => integerArgument(text, INVALID_ID)));
  return [...ids].flatMap((id) => sessions.get(id) ?? []);
}

function setName(session: Session, argv: readonly string[]): Reply {
  assertClientName(argv[2]!);
  session.name = argv[2]!;
  return OK;
}

function setInfo(session: Session, argv: readonly string[]): Reply {
  const option = upper(argv[2]!);
  if (option !== 'LIB-NAME' && option !== 'LIB-VER') {
    throw new ErrorReply(`ERR Unrecognized option '${printed(argv[2]!)}'`);
  }
  assertClientName(argv[3]!, argv[2]!);
  if (option === 'LIB-NAME') session.libraryName = argv[3]!;
  else session.libraryVersion = argv[3]!;
  return OK;
}

function pause(session: Session, argv: readonly string[]): Reply {
  if (argv.length > 4) throw wrongSubcommand(argv);
  const mode = pauseMode(argv[3]);
  const durationMs = waitMsArgument(argv[2]!);
  if (durationMs > MAX_PAUSE_MS) throw TOO_LONG_PAUSE;
  session.engine.pause.begin(durationMs, mode);
  return OK;
}

function pauseMode(text = 'ALL'): PauseMode {
  const word = upper(text);
  if (word === 'ALL') return 'all';
  if (word === 'WRITE') return 'write';
  throw new ErrorReply('ERR CLIENT PAUSE mode must be WRITE or ALL');
}

function unpause(session: Session): Reply {
  session.engine.pause.end();
  return OK;
}

function reply(session: Session, argv: readonly string[]): Reply {
  const word = upper(argv[2]!);
  if (word === 'ON') session.replies = 'on';
  else if (word === 'OFF') session.replies = 'off';
  else if (word !== 'SKIP') throw SYNTAX_ERROR;
  else if (session.replies !== 'off') session.replies = 'skip-next';
  return word === 'ON' ? OK : NO_REPLY;
}

/** Does not unblock a client whose command is delayed by a pause or by failed sign-ins. */
function unblock(session: Session, argv: readonly string[]): Reply {
  if (argv.length > 4) throw wrongSubcommand(argv);
  const word = upper(argv[3] ?? 'TIMEOUT');
  if (word !== 'TIMEOUT' && word !== 'ERROR') {
    throw new ErrorReply('ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR');
  }
  const { engine } = session;
  const target = engine.sessions.get(integerArgument(argv[2]!));
  if (!target?.blockedCommand || isHeld(target)) return 0;
  if (word === 'TIMEOUT') target.blockedCommand.timeOut();
  else target.blockedCommand.finish(UNBLOCKED);
  return 1;
}

function isHeld(session: Session): boolean {
  const { pause, signIns } = session.engine;
  return pause.isHolding(session) || signIns.isHolding(session);
}

function choose(session: Session, option: 'noEvict' | 'noTouch', text: string): Reply {
  const word = upper(text);
  if (word !== 'ON' && word !== 'OFF') throw SYNTAX_ERROR;
  session[option] = word === 'ON';
  return OK;
}

function trackingInfo(): Reply {
  return new MapReply([
    ['flags', new SetReply(['off'])],
    ['redirect', -1],
    ['prefixes', []],
  ]);
}

/** Long enough for a manual failover. In mode `all` no client can end a pause early. */
const MAX_PAUSE_MS = 3_600_000;
const TOO_LONG_PAUSE = new ErrorReply('ERR timeout is out of range');
const INVALID_ID = new ErrorReply('ERR Invalid client ID');
const UNBLOCKED = new ErrorReply('UNBLOCKED client unblocked via CLIENT UNBLOCK');
