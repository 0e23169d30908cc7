import { Locks } from '../../lock/index.ts';
import { redisStore } from '../../stores/index.ts';
import { bytesOf } from '../bytes.ts';
import { parseStoreAddress, type StoreAddress } from '../console/store-address.ts';
import type { Environment } from '../verb.ts';
import { RunError } from './exit-codes.ts';
import { SmallClient } from './small-client.ts';

/** The locks of one run, and what they are reached by. */
export interface OpenStore extends AsyncDisposable {
  readonly locks: Locks;
}

export async function openStore(
  url: string | undefined,
  environment: Environment,
  _signal: AbortSignal,
): Promise<OpenStore> {
  if (url === undefined) throw new RunError('unavailable', 'name a store with --store.');
  const client = new SmallClient(addressOf(url, environment));
  const locks = new Locks({ store: redisStore(client) });
  const close = async (): Promise<void> => {
    await locks.close();
    client.disconnect();
  };
  return { locks, [Symbol.asyncDispose]: close };
}

function addressOf(url: string, environment: Environment): StoreAddress {
  const store = parseStoreAddress(url);
  if (store.password !== '') return store;
  return { ...store, password: bytesOf(environment.HOLDFAST_PASSWORD ?? '') };
}
