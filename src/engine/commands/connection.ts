import { ErrorReply, MapReply, OK, type Reply, SimpleReply } from '../../resp/index.ts';
import { DEFAULT_USER } from '../acl/acl.ts';
import { type CommandTable, NO_KEYS, type Outcome } from '../command.ts';
import { SYNTAX_ERROR, wrongArity } from '../errors.ts';
import { int32Argument, parseInteger } from '../number.ts';
import type { Session } from '../session.ts';
import { printed, upper } from '../text.ts';
import { REDIS_VERSION } from '../version.ts';
import { assertClientName } from './client-name.ts';

const SIGN_IN = ['noscript', 'loading', 'stale', 'fast', 'no_auth', 'allow_busy'] as const;

export const connection = {
  AUTH: {
    arity: -2,
    keys: NO_KEYS,
    flags: SIGN_IN,
    run: auth,
    syntax: '[username] password',
    summary: 'Signs in',
    since: '1.0.0',
    complexity: 'O(N) for N passwords of the user',
    history: [['6.0.0', 'Accepts a user name before the password']],
  },
  HELLO: {
    arity: -1,
    keys: NO_KEYS,
    flags: SIGN_IN,
    run: hello,
    syntax: '[protover [AUTH username password] [SETNAME clientname]]',
    summary: 'Sets the protocol version, optionally signs in, and describes the server',
    since: '6.0.0',
    complexity: 'O(1)',
    history: [['6.2.0', 'Without arguments it describes the connection and changes nothing']],
  },
  PING: {
    arity: -1,
    keys: NO_KEYS,
    flags: ['fast'],
    run: ping,
    actsInSubscription: true,
    syntax: '[message]',
    summary: 'Returns PONG, or its argument',
    since: '1.0.0',
    complexity: 'O(1)',
    tips: ['request_policy:all_shards', 'response_policy:all_succeeded'],
  },
  ECHO: {
    arity: 2,
    keys: NO_KEYS,
    flags: ['loading', 'stale', 'fast'],
    run: (_session, argv) => argv[1]!,
    syntax: 'message',
    summary: 'Returns its argument',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  QUIT: {
    arity: -1,
    keys: NO_KEYS,
    flags: SIGN_IN,
    run: quit,
    actsInMulti: true,
    actsInSubscription: true,
    syntax: '',
    summary: 'Ends the connection after the reply',
    since: '1.0.0',
    complexity: 'O(1)',
  },
  RESET: {
    arity: 1,
    keys: NO_KEYS,
    flags: SIGN_IN,
    run: reset,
    actsInMulti: true,
    actsInSubscription: true,
    syntax: '',
    summary: 'Restores the state of a new connection',
    since: '6.2.0',
    complexity: 'O(1)',
  },
  SELECT: {
    arity: 2,
    keys: NO_KEYS,
    flags: ['loading', 'stale', 'fast'],
    run: select,
    syntax: 'index',
    summary: 'Selects the database of the connection',
    since: '1.0.0',
    complexity: 'O(1)',
  },
} as const satisfies CommandTable;

function auth(session: Session, argv: readonly string[]): Outcome {
  const { signIns, acl } = session.engine;
  if (argv.length > 3) throw SYNTAX_ERROR;
  if (argv.length === 2 && acl.defaultUser.state.hasNoPassword) throw NO_PASSWORD_SET;
  const [user, password] = argv.length === 2 ? [DEFAULT_USER, argv[1]!] : [argv[1]!, argv[2]!];
  return signIns.evaluate(session, () => {
    signIns.signIn(session, user, password, argv[0]!);
    return OK;
  });
}

/** A delayed sign-in delays all options of HELLO, because they take effect in order. */
function hello(session: Session, argv: readonly string[]): Outcome {
  const hasPassword = argv.some((word, at) => at > 1 && upper(word) === 'AUTH');
  if (!hasPassword) return switchProtocol(session, argv);
  return session.engine.signIns.evaluate(session, () => switchProtocol(session, argv));
}

function switchProtocol(session: Session, argv: readonly string[]): Reply {
  const protocol = argv.length > 1 ? protocolArgument(argv[1]!) : session.protocol;
  followHelloOptions(session, argv);
  if (!session.authenticated) throw HELLO_WITHOUT_AUTH;
  session.protocol = protocol;
  return new MapReply([
    ['server', 'redis'],
    ['version', REDIS_VERSION],
    ['proto', protocol],
    ['id', session.id],
    ['mode', 'standalone'],
    ['role', 'master'],
    ['modules', []],
  ]);
}

function protocolArgument(text: string): 2 | 3 {
  const version = parseInteger(text);
  if (version === undefined) {
    throw new ErrorReply('ERR Protocol version is not an integer or out of range');
  }
  if (version !== 2 && version !== 3) {
    throw new ErrorReply('NOPROTO unsupported protocol version');
  }
  return version;
}

/** As in Redis, each option takes effect when it is parsed, also if a later one fails. */
function followHelloOptions(session: Session, argv: readonly string[]): void {
  for (let at = 2; at < argv.length; at++) {
    const word = upper(argv[at]!);
    if (word === 'AUTH' && at + 2 < argv.length) {
      session.engine.signIns.signIn(session, argv[++at]!, argv[++at]!, argv[0]!);
    } else if (word === 'SETNAME' && at + 1 < argv.length) {
      assertClientName(argv[++at]!);
      session.name = argv[at]!;
    } else throw new ErrorReply(`ERR Syntax error in HELLO option '${printed(argv[at]!)}'`);
  }
}

/** A subscribed RESP2 client gets an array. */
function ping(session: Session, argv: readonly string[]): Reply {
  if (argv.length > 2) throw wrongArity('ping');
  if (session.protocol === 2 && session.subscriptionCount > 0) return ['pong', argv[1] ?? ''];
  return argv[1] ?? PONG;
}

function quit(session: Session): Reply {
  session.closing = true;
  return OK;
}

function reset(session: Session): Reply {
  session.reset();
  return RESET;
}

function select(session: Session, argv: readonly string[]): Reply {
  const number = int32Argument(argv[1]!);
  if (number < 0 || number >= session.engine.databaseCount) throw NO_SUCH_DATABASE;
  session.database = session.engine.database(number);
  return OK;
}

const PONG = new SimpleReply('PONG');
const RESET = new SimpleReply('RESET');
export const NO_SUCH_DATABASE = new ErrorReply('ERR DB index is out of range');
const NO_PASSWORD_SET = new ErrorReply(
  'ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
);
const HELLO_WITHOUT_AUTH = new ErrorReply(
  'NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
);
