import { type Address, AddressError, parseAddress } from '../../client/index.ts';
import { UsageError } from '../verb.ts';

export type StoreAddress = Address;

/** Reads the address of a store as it is typed. Throws UsageError. */
export function parseStoreAddress(text: string): StoreAddress {
  try {
    return parseAddress(text);
  } catch (error) {
    throw error instanceof AddressError ? new UsageError(error.message) : error;
  }
}
