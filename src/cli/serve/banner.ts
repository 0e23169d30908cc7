import type { LogEntry } from '../../server/index.ts';

/** The facts about a server that has started. */
export interface ServerFacts {
  readonly addresses: readonly string[];
  /** The TCP ports, 0 for none. */
  readonly port: number;
  readonly tlsPort: number;
  /** What a restart keeps: a clause. */
  readonly durability: string;
  /** Which clients may send commands: a clause. */
  readonly access: string;
}

/** The lines that `serve` prints when it listens. */
export function banner(facts: ServerFacts, version: string): string {
  const { addresses, durability, access } = facts;
  return [
    `holdfast ${version} listens on ${addresses.join(' and ')}. Ctrl-C stops it.`,
    `Data: ${durability}.`,
    `Access: ${access}.`,
    tryLine(facts),
  ].join('\n');
}

/** The same as a line of the log. */
export function listeningEntry(facts: ServerFacts, version: string): LogEntry {
  const { addresses, durability, access } = facts;
  const message = `holdfast ${version} listens on ${addresses.join(' and ')}`;
  const fields = { version, addresses: addresses.join(' '), durability, access };
  return { level: 'notice', event: 'listening', message, fields };
}

/** The address of the page as a line of the log. */
export function pageEntry(address: string): LogEntry {
  return {
    level: 'notice',
    event: 'page',
    message: `the page is at ${address}`,
    fields: { address },
  };
}

interface AccessFacts {
  readonly host: string;
  readonly port: number;
  readonly tlsPort: number;
  readonly hasUnixSocket: boolean;
  readonly signIn: keyof typeof SIGN_IN;
  /** The value of `tls-auth-clients`. */
  readonly certificates: string;
}

/** Says which clients may send commands. */
export function describeAccess(facts: AccessFacts): string {
  const { host, port, tlsPort, hasUnixSocket, signIn, certificates } = facts;
  const hosts = /^(?:localhost|::1|127\..*)$/.test(host)
    ? 'programs on this machine'
    : 'every host that can connect';
  const entries = [
    ...(port === 0 ? [] : [`${hosts}, without TLS`]),
    ...(tlsPort === 0 ? [] : [`${hosts}, by TLS ${CERTIFICATES[certificates]}`]),
    ...(hasUnixSocket ? ['the user of this process, by the Unix socket'] : []),
  ];
  return `${entries.join('; ')}; ${SIGN_IN[signIn]}`;
}

/** What a connection without a client certificate must send before its first command. */
const SIGN_IN = {
  none: 'no password is needed',
  password: 'with the password',
  user: 'with the name and password of a user',
} as const;

const CERTIFICATES: Readonly<Record<string, string>> = {
  yes: 'with a client certificate',
  optional: 'with or without a client certificate',
  no: 'without a client certificate',
};

function tryLine({ addresses, port, tlsPort }: ServerFacts): string {
  if (port === 0 && tlsPort !== 0) {
    return `Try: npx holdfast cli --store ${addresses[0]} --ca <file> PING   (or: redis-cli --tls --cacert <file> -p ${tlsPort})`;
  }
  const store = port === 0 ? `unix:${addresses[0]}` : `redis://${addresses[0]}`;
  const option = port === 6379 ? '' : ` --store ${store}`;
  const reach = port === 0 ? `-s ${addresses[0]}` : `-p ${port}`;
  return `Try: npx holdfast cli${option} SETNX job programmer   (or: redis-cli ${reach})`;
}
