import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface IssuedCertificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A CA of a test, made with openssl: Node can sign, but not issue. */
export class CertificateAuthority {
  readonly certFile: string;
  readonly #keyFile: string;
  readonly #folder: string;
  #issued = 0;

  constructor(folder: string, name: string) {
    this.#folder = join(folder, name);
    mkdirSync(this.#folder);
    this.certFile = join(this.#folder, 'ca.crt');
    this.#keyFile = join(this.#folder, 'ca.key');
    const files = ['-keyout', this.#keyFile, '-out', this.certFile];
    openssl('req', '-x509', '-days', '2', ...NEW_KEY, '-subj', `/CN=${name} CA`, ...files);
  }

  /** A certificate for loopback, for servers and clients. With -1 days it has expired. */
  issue({
    subject = '/CN=default',
    days = 1,
    name = 'IP:127.0.0.1,DNS:localhost',
  } = {}): IssuedCertificate {
    const base = join(this.#folder, String(this.#issued++));
    const [certFile, keyFile, request] = [`${base}.crt`, `${base}.key`, `${base}.csr`];
    writeFileSync(`${base}.ext`, `subjectAltName=${name}`);
    openssl('req', '-new', ...NEW_KEY, '-subj', subject, '-keyout', keyFile, '-out', request);
    const signer = ['-CA', this.certFile, '-CAkey', this.#keyFile, '-CAcreateserial'];
    const dates = ['-days', String(days), '-extfile', `${base}.ext`];
    openssl('x509', '-req', '-in', request, ...signer, ...dates, '-out', certFile);
    return { certFile, keyFile };
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
