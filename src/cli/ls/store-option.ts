import { SessionError } from '../../stores/index.ts';
import { bytesOf } from '../bytes.ts';
import { parseStoreAddress, type StoreAddress } from '../console/store-address.ts';
import type { OptionTable } from '../options.ts';
import type { Environment } from '../verb.ts';
import { StoreError } from './servers.ts';

/** Where the locks are, for the verbs that look at them. */
export const STORE_OPTION = {
  store: {
    placeholder: 'url',
    environment: true,
    help: 'where the locks are; without it those of `holdfast run` on this machine',
  },
} as const satisfies OptionTable;

/** The same words under the options of each of these verbs. */
export const STORE_HELP = `A store is redis://[user:password@]host[:port][/database], rediss://… or unix:/path; HOLDFAST_STORE
names it too. Any node of a cluster will do. HOLDFAST_PASSWORD is sent where the address has no password.`;

/** What the local server is called: its socket has another name each time that it starts. */
export const LOCAL = 'local';

/** Finds the store anew each time; undefined: no local server runs, and so nobody holds anything. */
export type FindStore = () => Promise<StoreAddress | undefined>;

/** The store that was named, else the local server of this user, if it runs. Throws UsageError. */
export function storeFinder(url: string | undefined, environment: Environment): FindStore {
  if (url === undefined) return () => findLocal(environment);
  const named = parseStoreAddress(url);
  const store =
    named.password === ''
      ? { ...named, password: bytesOf(environment.HOLDFAST_PASSWORD ?? '') }
      : named;
  return async () => store;
}

/** It is not started to be asked: who finds none knows that it holds nothing. */
async function findLocal(environment: Environment): Promise<StoreAddress | undefined> {
  const { findLocalAddress, LocalError } = await import('../../local/index.ts');
  try {
    const address = await findLocalAddress({ environment });
    return address === undefined ? undefined : { ...parseStoreAddress(address), label: LOCAL };
  } catch (error) {
    const isKnown = error instanceof LocalError || error instanceof SessionError;
    throw isKnown ? new StoreError(error.message) : error;
  }
}
