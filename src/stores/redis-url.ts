import { type Address, Client, type ClientOptions, parseAddress } from '../client/index.ts';
import type { LockStore } from '../lock/index.ts';
import { ClientRunner } from './clients/client-runner.ts';
import { lockSession, openBeside, type RedisStoreOptions, storeOn } from './redis.ts';

type AddressStoreOptions = Omit<RedisStoreOptions, 'requestTimeout'> & Pick<ClientOptions, 'tls'>;

/** A store at `redis://…`, `rediss://…` or `unix:/path`, with a client of its own that it closes. */
export function redisUrlStore(url: string, options: AddressStoreOptions = {}): LockStore {
  return addressStore(parseAddress(url), options);
}

export function addressStore(
  address: Address,
  { session = false, tls, ...keys }: AddressStoreOptions = {},
): LockStore {
  const runner = new ClientRunner(new Client(address, { tls }));
  if (!session) return storeOn(runner, keys);
  const { plain } = runner;
  const open = () => openBeside(plain, address.label);
  return storeOn(runner, keys, lockSession(session, { ...plain, scripts: runner, open }));
}
