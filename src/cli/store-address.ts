import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Address, AddressError, parseAddress } from '../client/index.ts';
import { LockArgumentError } from '../lock/index.ts';
import { findStoreUrl, type StoreUrl } from '../stores/index.ts';
import { bytesOf } from './bytes.ts';
import type { OptionTable, OptionValues } from './options.ts';
import { type Environment, UsageError } from './verb.ts';

/** A server, how to sign in there, and for rediss:// the contents of the files of `--ca`, `--cert` and `--key`. */
export interface StoreAddress extends Address {
  readonly tls?: TlsFiles;
}

type TlsFiles = { readonly [Option in TlsOption]?: Buffer };
type TlsOption = keyof typeof TLS_OPTIONS;

/** For every verb with `--store`. */
export const TLS_OPTIONS = {
  ca: {
    placeholder: 'file',
    environment: true,
    help: 'for rediss://: PEM file with the CA certificate that the server certificate is checked against',
  },
  cert: {
    placeholder: 'file',
    environment: true,
    help: 'for rediss://: PEM file with the client certificate; needs --key',
  },
  key: {
    placeholder: 'file',
    environment: true,
    help: 'for rediss://: PEM file with the private key of --cert',
  },
} as const satisfies OptionTable;

const STORE_OPTIONS = {
  store: { placeholder: 'url', help: '' },
  ...TLS_OPTIONS,
} as const satisfies OptionTable;

/** The values of `--store`, `--ca`, `--cert` and `--key`. */
export type StoreValues = OptionValues<typeof STORE_OPTIONS>;

/**
 * Reads the address of `--store`, with HOLDFAST_PASSWORD if it has no password, and the TLS files. Undefined: no store
 * is named. `flags` are the values of the command line alone: HOLDFAST_CA may be set for another store, but `--ca`
 * with a store that does not use TLS is a mistake. Throws UsageError.
 */
export function readStoreAddress(
  values: StoreValues,
  flags: StoreValues,
  environment: Environment,
): StoreAddress | undefined {
  const address = values.store === undefined ? undefined : parseStoreAddress(values.store);
  if (address?.isSecure) return { ...withPassword(address, environment), tls: readFiles(values) };
  refuseTls(flags);
  return address && withPassword(address, environment);
}

/**
 * Reads `--store`: an address as above, or the URL of a store other than Redis. Throws UsageError.
 */
export function readStore(
  values: StoreValues,
  flags: StoreValues & { readonly prefix?: string },
  environment: Environment,
): StoreAddress | StoreUrl | undefined {
  const other = values.store === undefined ? undefined : findOther(values.store);
  if (other === undefined) return readStoreAddress(values, flags, environment);
  if (flags.prefix !== undefined && !other.options.includes('prefix')) {
    throw new UsageError(`--prefix does not work with ${other.scheme}://.`);
  }
  if (other.options.includes('tls')) return withTls(other, readFiles(values));
  refuseTls(flags);
  return other;
}

function withTls(store: StoreUrl, tls: TlsFiles): StoreUrl {
  return { ...store, load: (options) => store.load({ ...options, tls }) };
}

function findOther(text: string): StoreUrl | undefined {
  try {
    return findStoreUrl(text);
  } catch (error) {
    throw error instanceof LockArgumentError
      ? new UsageError(error.message.replace(/\.?$/, '.'))
      : error;
  }
}

/** Reads the address of a store without its password from the environment. Throws UsageError. */
export function parseStoreAddress(text: string): StoreAddress {
  try {
    return parseAddress(text);
  } catch (error) {
    throw error instanceof AddressError ? new UsageError(error.message) : error;
  }
}

function refuseTls(flags: StoreValues): void {
  const unused = TLS_NAMES.find((name) => flags[name] !== undefined);
  if (unused !== undefined)
    throw new UsageError(
      `--${unused} needs a store at rediss://…, rediss+quorum://… or etcds://….`,
    );
}

function withPassword(
  address: StoreAddress,
  { HOLDFAST_PASSWORD = '' }: Environment,
): StoreAddress {
  return address.password === '' ? { ...address, password: bytesOf(HOLDFAST_PASSWORD) } : address;
}

const TLS_NAMES = Object.keys(TLS_OPTIONS) as TlsOption[];

function readFiles(values: StoreValues): TlsFiles {
  if ((values.cert === undefined) !== (values.key === undefined)) {
    throw new UsageError('--cert and --key need each other: give both or none.');
  }
  const files = TLS_NAMES.flatMap((name) => {
    const path = values[name];
    return path === undefined ? [] : [[name, readFile(name, path)] as const];
  });
  const tls: TlsFiles = Object.fromEntries(files);
  checkFiles(tls, values);
  return tls;
}

function readFile(name: TlsOption, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`--${name}: cannot read ${path} (${code}).`);
  }
}

/** OpenSSL ignores a CA file without a certificate: every server would then be refused for another reason. */
function checkFiles({ ca, cert, key }: TlsFiles, paths: StoreValues): void {
  for (const [name, file] of [
    ['ca', ca],
    ['cert', cert],
  ] as const) {
    if (file !== undefined && !isCertificate(file)) {
      throw new UsageError(`--${name}: ${paths[name]} is not a certificate in PEM format.`);
    }
  }
  try {
    if (cert !== undefined) createSecureContext({ cert, key });
  } catch (error) {
    throw new UsageError(
      `--key: ${paths.key} is not the private key of ${paths.cert} without a passphrase (${(error as Error).message}).`,
    );
  }
}

function isCertificate(file: Buffer): boolean {
  try {
    new X509Certificate(file);
    return true;
  } catch {
    return false;
  }
}
