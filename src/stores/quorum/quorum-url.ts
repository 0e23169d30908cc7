import { type Address, AddressError, parseAddress } from '../../client/index.ts';
import { LockArgumentError } from '../../lock/index.ts';

/**
 * Parses `redis+quorum://[user:password@]host[:port],host[:port],…[/database]`. The user, the password and the database
 * are those of all nodes.
 *
 * @throws LockArgumentError. The message does not repeat the address, which may include a password.
 */
export function parseQuorumUrl(url: string): Address[] {
  const match = /^(rediss?)\+quorum:\/\/(?:([^@/]*)@)?([^@/]+)(\/\d*)?$/i.exec(url);
  if (match === null) throw new LockArgumentError('', URL_FORM);
  const [, scheme, user, hosts = '', database = ''] = match;
  const credentials = user === undefined ? '' : `${user}@`;
  const list = hosts.split(',');
  if (list.length < MIN_NODES) throw new LockArgumentError('', TOO_FEW);
  return list.map((host) => {
    if (host === '') throw new LockArgumentError('', URL_FORM);
    try {
      return parseAddress(`${scheme}://${credentials}${host}${database}`);
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      throw new LockArgumentError('', URL_FORM);
    }
  });
}

export const MIN_NODES = 3;

const TOO_FEW =
  'a quorum needs three or more servers: a majority of two is both. Use redis+quorum://host,host,host, or redis://host for one server';

const URL_FORM =
  'a quorum is redis+quorum://[user:password@]host[:port],host[:port],host[:port][/database], or rediss+quorum://… for TLS';
