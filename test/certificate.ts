import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A self-signed certificate for the loopback. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly text: string;
}

/** Needs openssl, since Node can sign but not issue. */
export function issueCertificate(folder: string): Certificate {
  const [certFile, keyFile] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', ['req', '-x509', '-days', '1', ...key, ...subject, ...files], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return { certFile, keyFile, text: readFileSync(certFile, 'utf8') };
}
