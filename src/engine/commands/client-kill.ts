import { ErrorReply, OK, type Reply } from '../../resp/index.ts';
import { clientType } from '../client-line.ts';
import type { Engine } from '../engine.ts';
import { SYNTAX_ERROR } from '../errors.ts';
import { parseInteger } from '../number.ts';
import type { Session } from '../session.ts';
import { lower, printed, upper } from '../text.ts';
import { clientTypeArgument } from './client-type.ts';

type Filter = (session: Session) => boolean;

/** The filter of each option of CLIENT KILL. */
const FILTERS: Partial<Record<string, (value: string, engine: Engine) => Filter>> = {
  ID: byId,
  TYPE: byType,
  USER: byUser,
  ADDR: byAddress,
  LADDR: (value) => (session) => session.localAddress === value,
};

/** CLIENT KILL with an address, or with filters, all of which must match. */
export function killClients(session: Session, argv: readonly string[]): Reply {
  if (argv.length > 3) return kill(session, filtersOf(session, argv));
  if (kill(session, [byAddress(argv[2]!)]) === 0) throw new ErrorReply('ERR No such client');
  return OK;
}

/** As in Redis, a repeated option replaces the earlier one. */
function filtersOf(session: Session, argv: readonly string[]): Filter[] {
  const filters = new Map<string, Filter>();
  let spared: Session | undefined = session;
  for (let at = 2; at < argv.length; at += 2) {
    const option = upper(argv[at]!);
    const value = argv[at + 1];
    const filter = FILTERS[option];
    if (value === undefined) throw SYNTAX_ERROR;
    if (option === 'SKIPME') spared = skipsMe(value) ? session : undefined;
    else if (filter) filters.set(option, filter(value, session.engine));
    else throw SYNTAX_ERROR;
  }
  return [...filters.values(), (each) => each !== spared];
}

function byId(value: string): Filter {
  const id = parseInteger(value);
  if (id === undefined || id <= 0) throw new ErrorReply('ERR client-id should be greater than 0');
  return (session) => session.id === id;
}

function byType(value: string): Filter {
  const type = clientTypeArgument(value);
  return (session) => clientType(session) === type;
}

function byUser(value: string, { acl }: Engine): Filter {
  const user = acl.find(value);
  if (user === undefined) throw new ErrorReply(`ERR No such user '${printed(value)}'`);
  return (session) => session.user === user;
}

function byAddress(value: string): Filter {
  return (session) => session.address === value;
}

function skipsMe(value: string): boolean {
  const word = lower(value);
  if (word !== 'yes' && word !== 'no') throw SYNTAX_ERROR;
  return word === 'yes';
}

/** Ends all matching sessions. The session of the caller ends after the reply. */
function kill(session: Session, filters: readonly Filter[]): number {
  const doomed = [...session.engine.sessions.values()].filter((each) =>
    filters.every((admits) => admits(each)),
  );
  for (const each of doomed) {
    if (each === session) {
      session.closing = true;
    } else {
      each.listener.close();
      each.close();
    }
  }
  return doomed.length;
}
