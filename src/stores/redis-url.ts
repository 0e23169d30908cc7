import { type Address, Client, type ClientOptions, parseAddress } from '../client/index.ts';
import type { LockStore } from '../lock/index.ts';
import { clientLink } from './client-link.ts';
import { linkRunner } from './link-runner.ts';
import { openBeside, type RedisStoreOptions, scriptStore, withSession } from './redis.ts';

type AddressStoreOptions = Pick<RedisStoreOptions, 'session'> & Pick<ClientOptions, 'tls'>;

/** A store at `redis://…`, `rediss://…` or `unix:/path`, with a client of its own that it closes. */
export function redisUrlStore(url: string, options: AddressStoreOptions = {}): LockStore {
  return addressStore(parseAddress(url), options);
}

export function addressStore(
  address: Address,
  { session = false, tls }: AddressStoreOptions = {},
): LockStore {
  const client = new Client(address, { tls });
  const link = clientLink(client);
  const runner = linkRunner(link);
  if (!session) return scriptStore(runner);
  const plain = link.plain!;
  const open = () => openBeside(plain, address.label);
  return scriptStore(withSession(session, { ...plain, runner, open }));
}
