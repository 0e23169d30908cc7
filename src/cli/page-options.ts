import { isIP } from 'node:net';
import { UsageError } from './verb.ts';

/** Where the page listens, and what it may do. */
export interface PagePlace {
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly canRelease: boolean;
}

interface PageValues {
  readonly port?: string | undefined;
  readonly host?: string | undefined;
  readonly isCleartext?: boolean | undefined;
  readonly allowRelease?: boolean | undefined;
}

const LOOPBACK = '127.0.0.1';

/** Checks the options of the page; `names` are those of its flags. Throws UsageError. */
export function readPagePlace(
  { port = 'auto', host = LOOPBACK, isCleartext, allowRelease }: PageValues,
  names: { readonly port: string; readonly host: string; readonly cleartext: string },
): PagePlace {
  const isOnLoopback = host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
  if (!isOnLoopback && !isCleartext) {
    throw new UsageError(
      `${names.host} ${host} lets other machines open the page, and its token would travel without TLS. Leave it ` +
        `at ${LOOPBACK} and use an SSH tunnel or a proxy with TLS, or add ${names.cleartext}.`,
    );
  }
  if (host !== 'localhost' && isIP(host) === 0) {
    throw new UsageError(`${names.host} is an IP address or localhost; got '${host}'.`);
  }
  const number = port === 'auto' ? 0 : Number(port);
  if (port !== 'auto' && !(/^\d{1,5}$/.test(port) && number <= 65_535)) {
    throw new UsageError(`${names.port} is a port or auto; got '${port}'.`);
  }
  return { host, port: number, canRelease: allowRelease === true };
}
