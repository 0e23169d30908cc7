import { readFileSync } from 'node:fs';
import type { Engine } from '../../engine/index.ts';
import type { TlsFiles, TlsOptions } from '../../server/index.ts';
import { textOf } from '../bytes.ts';
import { UsageError } from '../verb.ts';

type Settings = Engine['settings'];

/** The port for TLS and its files; undefined without `tls-port`. Throws UsageError. */
export function tlsOptions(settings: Settings): TlsOptions | undefined {
  const port = settings.number('tls-port');
  if (port === 0) {
    const unused = FILE_SETTINGS.find((name) => settings.text(name) !== '');
    if (unused !== undefined) throw new UsageError(`--${unused} needs --tls-port.`);
    return undefined;
  }
  const clients = settings.text('tls-auth-clients') as NonNullable<TlsOptions['clients']>;
  const user = settings.text('tls-auth-clients-user') as NonNullable<TlsOptions['user']>;
  if (clients !== 'no' && settings.text('tls-ca-cert-file') === '') {
    throw new UsageError(
      '--tls-port needs --tls-ca-cert-file, the CA of the client certificates; or --tls-auth-clients no.',
    );
  }
  return { port, clients, user, ...readTlsFiles(settings) };
}

/** Reads the certificate, the key and the CA. Throws UsageError. */
export function readTlsFiles(settings: Settings): TlsFiles {
  const ca =
    settings.text('tls-ca-cert-file') === '' ? undefined : read(settings, 'tls-ca-cert-file');
  return { cert: read(settings, 'tls-cert-file'), key: read(settings, 'tls-key-file'), ca };
}

const FILE_SETTINGS = ['tls-cert-file', 'tls-key-file', 'tls-ca-cert-file'] as const;

function read(settings: Settings, name: (typeof FILE_SETTINGS)[number]): Buffer {
  const path = textOf(settings.text(name));
  if (path === '') throw new UsageError(`--tls-port needs --${name}.`);
  try {
    return readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`--${name}: cannot read ${path} (${code}).`);
  }
}
