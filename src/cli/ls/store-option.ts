import { SessionError, StoreError } from '../../stores/index.ts';
import type { OptionTable } from '../options.ts';
import { PREFIX_OPTION } from '../prefix-option.ts';
import {
  parseStoreAddress,
  readStoreAddress,
  type StoreAddress,
  type StoreValues,
  TLS_OPTIONS,
} from '../store-address.ts';
import type { Environment } from '../verb.ts';

/** The options of the verbs that read or change the locks of a store. */
export const STORE_OPTIONS = {
  store: {
    placeholder: 'url',
    environment: true,
    help: 'the store that has the locks; without it the local server of `holdfast run`',
  },
  ...PREFIX_OPTION,
  ...TLS_OPTIONS,
} as const satisfies OptionTable;

/** Printed under the options of each of these verbs. */
export const STORE_HELP = `A store is redis://[user:password@]host[:port][/database], rediss://…, unix:/path or
memcached://host[:port]. HOLDFAST_STORE, HOLDFAST_PREFIX, HOLDFAST_CA, HOLDFAST_CERT and HOLDFAST_KEY set the
options too. Any node of a cluster will do. HOLDFAST_PASSWORD is sent if the address has no password. A
mutex whose key a program chooses by the option key of createLocks has no name here: holdfast ls --foreign
lists its key. memcached cannot list its locks, and keeps no reason of a release.`;

/** Label of the local server: its socket has another name each time that it starts. */
export const LOCAL = 'local';

/** Finds the store for each connection. Undefined: no local server runs, so there are no locks. */
export type FindStore = () => Promise<StoreAddress | undefined>;

/** The store that was named, else the local server of this user, if it runs. Throws UsageError. */
export function storeFinder(
  values: StoreValues,
  flags: StoreValues,
  environment: Environment,
): FindStore {
  const store = readStoreAddress(values, flags, environment);
  return store === undefined ? () => findLocal(environment) : async () => store;
}

/** Does not start the local server: without one there are no locks. */
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
