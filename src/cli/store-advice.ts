import type { StoreAddress } from './store-address.ts';

/**
 * Advice for a request to a store that failed: one or two sentences, with a space before them. Empty: none fits. The
 * error may be wrapped: its causes are read too.
 */
export function storeAdvice(error: unknown, store: StoreAddress): string {
  const causes = causesOf(error);
  const code = causes.map(({ code }) => code).find((each) => each !== undefined && CODES.has(each));
  const refusals = causes.map(({ message }) => replyAdvice(message));
  const refusal = refusals.find((each) => each !== undefined);
  const advice = CODES.get(code ?? '') ?? refusal ?? adviceByPhase(causes, store);
  return advice === '' ? '' : ` ${advice}`;
}

/** Advice for an error reply that refuses the client. `holdfast serve` refuses a certificate by a reply too. */
export function replyAdvice(message: string): string | undefined {
  if (/\bNOAUTH a client certificate is required/.test(message)) return CLIENT_CERTIFICATE;
  if (/\bNOAUTH the client certificate/.test(message)) return REFUSED_CERTIFICATE;
  if (/unknown command 'HOLDFAST\.HISTORY'/i.test(message)) return NO_HISTORY;
  return /\b(?:NOAUTH|WRONGPASS)\b/.test(message) ? PASSWORD_ADVICE : undefined;
}

const NO_HISTORY = 'A Redis keeps no history of locks: only holdfast serve keeps one.';

const PASSWORD_ADVICE =
  'Put the password into HOLDFAST_PASSWORD, or user and password into the address of the store.';

const START =
  'Start a server with "npx holdfast serve", or name another with --store redis://host:port.';
const CA =
  'Name the CA certificate with --ca; for a self-signed certificate, that certificate itself.';
const OTHER_NAME = 'Use a host in the address that the certificate names.';
const VALIDITY = 'Renew the certificate of the server, or correct the clock of this machine.';
const PLAIN = 'The server does not use TLS there: write redis:// instead of rediss://.';
const MAYBE_PLAIN = 'If the server does not use TLS, write redis:// instead of rediss://.';
const MAYBE_TLS = 'If the server uses TLS, write rediss:// instead of redis://.';
const CLIENT_CERTIFICATE =
  'If the server asks for a client certificate, name it with --cert and --key.';
const REFUSED_CERTIFICATE = 'The server refuses the client certificate of --cert.';

/** Advice by the code of Node or OpenSSL. */
const CODES: ReadonlyMap<string, string> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', CA],
  ['SELF_SIGNED_CERT_IN_CHAIN', CA],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', CA],
  ['UNABLE_TO_GET_ISSUER_CERT', CA],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', CA],
  ['ERR_TLS_CERT_ALTNAME_INVALID', OTHER_NAME],
  ['CERT_HAS_EXPIRED', VALIDITY],
  ['CERT_NOT_YET_VALID', VALIDITY],
  ['ERR_SSL_WRONG_VERSION_NUMBER', PLAIN],
  ['ERR_SSL_PACKET_LENGTH_TOO_LONG', PLAIN],
  ['ERR_SSL_UNEXPECTED_MESSAGE', PLAIN],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', CLIENT_CERTIFICATE],
  ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', CLIENT_CERTIFICATE],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', REFUSED_CERTIFICATE],
  ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', REFUSED_CERTIFICATE],
  ['ERR_SSL_TLSV1_ALERT_DECRYPT_ERROR', REFUSED_CERTIFICATE],
]);

/** A peer that speaks the other protocol, plain or TLS, stays silent or closes the connection. */
function adviceByPhase(causes: readonly Cause[], { isSecure, socket, tls }: StoreAddress): string {
  const has = (pattern: RegExp): boolean => causes.some(({ message }) => pattern.test(message));
  if (isSecure && (has(/no answer within/) || (has(NOT_CONNECTED) && has(/disconnected before/)))) {
    return MAYBE_PLAIN;
  }
  if (has(NOT_CONNECTED)) return START;
  if (!has(/ was lost before the answer came/)) return '';
  if (isSecure) return tls?.cert === undefined ? CLIENT_CERTIFICATE : REFUSED_CERTIFICATE;
  return 'path' in socket ? '' : MAYBE_TLS;
}

const NOT_CONNECTED = /Could not connect to/;

interface Cause {
  readonly code: string | undefined;
  readonly message: string;
}

function causesOf(error: unknown): Cause[] {
  const causes: Cause[] = [];
  for (let each = error; each instanceof Error; each = each.cause) {
    const { code, message } = each as NodeJS.ErrnoException;
    causes.push({ code, message });
  }
  return causes;
}
