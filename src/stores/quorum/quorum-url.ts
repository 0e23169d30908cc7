import { type Address, AddressError, parseAddress } from '../../client/index.ts';
import { LockArgumentError } from '../../lock/index.ts';

/**
 * Parses `redis+quorum://[user:password@]host[:port],host[:port],…[/database]`. The user, the password and the database are
 * those of all nodes.
 *
 * @throws LockArgumentError. The message does not repeat the address, which may include a password.
 */
export function parseQuorumUrl(url: string): Address[] {
  const match = /^(rediss?)\+quorum:\/\/(?:([^@/]*)@)?([^@/]+)(\/\d*)?$/i.exec(url);
  if (match === null) throw new LockArgumentError('', URL_FORM);
  const [, scheme, user, hosts = '', database = ''] = match;
  const credentials = user === undefined ? '' : `${user}@`;
  return hosts.split(',').map((host) => {
    if (host === '') throw new LockArgumentError('', URL_FORM);
    try {
      return parseAddress(`${scheme}://${credentials}${host}${database}`);
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      throw new LockArgumentError('', URL_FORM);
    }
  });
}

const URL_FORM =
  'a quorum is redis+quorum://[user:password@]host[:port],host[:port],host[:port][/database], or rediss+quorum://… for TLS';
