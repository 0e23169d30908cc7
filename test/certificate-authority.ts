import { execFileSync } from 'node:child_process';
import { sign, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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

  /** Replaces bytes of a certificate and signs it again: openssl issues no name with a NUL. */
  forge({ certFile, keyFile }: IssuedCertificate, from: string, to: string): IssuedCertificate {
    const { raw } = new X509Certificate(readFileSync(certFile));
    const body = elementAt(raw, contentAt(raw, 0));
    const algorithm = elementAt(raw, contentAt(raw, 0) + body.length);
    const changed = Buffer.from(body.toString('latin1').replace(from, to), 'latin1');
    const signature = sign('sha256', changed, readFileSync(this.#keyFile));
    const bits = element(0x03, Buffer.concat([Buffer.from([0]), signature]));
    const whole = element(0x30, Buffer.concat([changed, algorithm, bits]));
    const pem = whole.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
    const forgedFile = `${certFile}.forged`;
    writeFileSync(forgedFile, `-----BEGIN CERTIFICATE-----\n${pem}-----END CERTIFICATE-----\n`);
    return { certFile: forgedFile, keyFile };
  }
}

/** Where the content of a DER element begins. */
function contentAt(der: Buffer, start: number): number {
  const length = der[start + 1]!;
  return start + 2 + (length < 0x80 ? 0 : length & 0x7f);
}

/** The DER element that begins here. */
function elementAt(der: Buffer, start: number): Buffer {
  const content = contentAt(der, start);
  const size =
    content - start === 2 ? der[start + 1]! : der.readUIntBE(start + 2, content - start - 2);
  return der.subarray(start, content + size);
}

/** An element with a length of two bytes if it is long. */
function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
