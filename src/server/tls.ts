import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  createSecureContext,
  createServer as createTlsServer,
  type SecureContextOptions,
  type TLSSocket,
  type Server as TlsServer,
} from 'node:tls';
import type { Clock } from '../clock/index.ts';
import type { Session } from '../engine/index.ts';
import { ServerError } from './errors.ts';
import type { TlsFiles, TlsOptions } from './tls-options.ts';

/** A client that has finished its handshake. `refusal` says why it may not enter. */
export interface SecureClient {
  readonly socket: TLSSocket;
  readonly refusal: string | undefined;
}

interface HandshakeLimits {
  readonly maxPending: number;
  readonly timeoutMs: number;
}

/** A handshake takes up to 100 KB and some milliseconds of the server's time. */
const LIMITS: HandshakeLimits = { maxPending: 1_000, timeoutMs: 10_000 };

interface TlsEvents {
  connected(client: SecureClient): void;
  failed(socket: Socket, reason: string): void;
}

/** The TLS side of a listener: handshakes, and the check of client certificates. */
export class TlsHandshakes {
  readonly #options: TlsOptions;
  readonly #clock: Clock;
  readonly #events: TlsEvents;
  readonly #maxPending: number;
  readonly #server: TlsServer;
  /** The sockets whose handshake is under way, by the address of the client. */
  readonly #pending = new Map<string, Socket>();

  /** @throws ServerError if a certificate or key cannot be used. */
  constructor(options: TlsOptions, clock: Clock, events: TlsEvents, limits = LIMITS) {
    this.#options = options;
    this.#clock = clock;
    this.#events = events;
    this.#maxPending = limits.maxPending;
    const requestCert = options.clients !== 'no';
    this.#server = createTlsServer({
      ...this.#contextOf(options),
      requestCert,
      // Node would close without a reason. `refusalOf` checks instead.
      rejectUnauthorized: false,
      handshakeTimeout: limits.timeoutMs,
    });
    this.#server.on('secureConnection', (socket) => this.#finish(socket));
    this.#server.on('tlsClientError', (error, socket) => this.#fail(error, socket));
  }

  /** The number of handshakes under way. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /** Begins the handshake of an accepted socket. Returns false if too many are under way. */
  begin(socket: Socket): boolean {
    if (this.#pending.size >= this.#maxPending) return false;
    const client = clientOf(socket);
    this.#pending.set(client, socket);
    socket.once('close', () => {
      if (this.#pending.get(client) === socket) this.#pending.delete(client);
    });
    this.#server.emit('connection', socket);
    return true;
  }

  /**
   * Uses other files for clients that connect from now on.
   *
   * @throws ServerError if they cannot be used. The files before stay in use.
   */
  reload(files: TlsFiles): void {
    this.#server.setSecureContext(this.#contextOf(files));
  }

  /** Ends the handshakes under way. */
  close(): void {
    for (const socket of this.#pending.values()) socket.destroy();
  }

  #contextOf(files: TlsFiles): SecureContextOptions {
    return contextOf(files, this.#options.clients !== 'no', this.#clock.wallMs());
  }

  #finish(socket: TLSSocket): void {
    this.#pending.delete(clientOf(socket));
    // The client may close its side and still read replies. During the handshake that would only hold the socket.
    socket.allowHalfOpen = true;
    this.#events.connected({ socket, refusal: refusalOf(socket, this.#options.clients) });
  }

  #fail(error: Error, socket: TLSSocket): void {
    this.#events.failed(socket, reasonOf(error));
    socket.destroy();
  }
}

/** Unique among the open connections of a listener. The TLS socket has the same as the socket under it. */
function clientOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/**
 * Signs the session in as the user that its certificate names. Returns false if there is no such user, or if it is off.
 */
export function signInAs(session: Session, name: string): boolean {
  const user = session.engine.acl.find(name);
  if (user === undefined || !user.state.isEnabled) return false;
  session.user = user;
  session.authenticated = true;
  return true;
}

/**
 * The user name in the subject of a certificate: its only CN, of printable ASCII without blanks. Undefined for any other
 * subject: a name that another program cuts at a NUL or folds to ASCII could become the name of another user.
 */
export function certificateUser(
  subject: { readonly CN?: unknown } | undefined,
): string | undefined {
  const name = subject?.CN;
  return typeof name === 'string' && /^[\x21-\x7e]{1,64}$/.test(name) ? name : undefined;
}

/**
 * A certificate must be present even if Node calls the socket authorized: Node does so for every TLS 1.3 session that is
 * resumed without a certificate, and a client that was refused has the ticket for one.
 */
function refusalOf(socket: TLSSocket, clients: TlsOptions['clients'] = 'yes'): string | undefined {
  if (clients === 'no') return undefined;
  const hasCertificate = socket.getPeerX509Certificate() !== undefined;
  if (!hasCertificate)
    return clients === 'optional' ? undefined : 'a client certificate is required';
  if (socket.authorized) return undefined;
  return `the client certificate is refused (${socket.authorizationError})`;
}

function contextOf(files: TlsFiles, needsCa: boolean, wallMs: number): SecureContextOptions {
  const { cert, key, ca } = files;
  // The others are intermediate ones.
  checkDates('certificate', certificatesIn('certificate', cert).slice(0, 1), wallMs);
  if (ca !== undefined) checkDates('CA certificate', certificatesIn('CA certificate', ca), wallMs);
  else if (needsCa) {
    throw badCertificate(
      'client certificates need the CA certificate that they are checked against',
    );
  }
  const options: SecureContextOptions = { cert, key, minVersion: 'TLSv1.2' };
  // Without one, Node would accept client certificates of every public CA.
  if (ca !== undefined) options.ca = ca;
  try {
    createSecureContext(options);
  } catch (error) {
    throw badCertificate(
      `the key is not the private key of the certificate, without a passphrase (${(error as Error).message})`,
    );
  }
  return options;
}

/** At least one must be valid: a file of CAs may have an old one beside its successor. */
function checkDates(what: string, certificates: readonly X509Certificate[], wallMs: number): void {
  if (certificates.some(({ validTo }) => Date.parse(validTo) >= wallMs)) return;
  throw badCertificate(`the ${what} has expired on ${certificates[0]!.validTo}`);
}

/** All certificates of a file. Node ignores those after the first that it cannot read. */
function certificatesIn(what: string, pem: string | Buffer): X509Certificate[] {
  const blocks = pem.toString('latin1').match(PEM_CERTIFICATE) ?? [];
  if (blocks.length === 0) throw badCertificate(`the ${what} is not in PEM format`);
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw badCertificate(`certificate ${index + 1} of the ${what} file cannot be read`);
    }
  });
}

const PEM_CERTIFICATE =
  /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----[^-]*-----END [A-Z\d ]+-----/g;

function badCertificate(reason: string): ServerError {
  return new ServerError('bad-certificate', `cannot use TLS: ${reason}.`);
}

/** OpenSSL's text has a thread id, a file and a line: only its reason is for the log. */
function reasonOf(error: NodeJS.ErrnoException & { readonly reason?: string }): string {
  return error.reason ?? error.code ?? error.message;
}
