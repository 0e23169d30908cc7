import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Certificate, issueCertificate } from './certificate.ts';
import { type Ended, runCli } from './cli-process.ts';
import { startRun } from './cli-run-process.ts';
import { freePort, type RunningServer, startRealRedis } from './real-redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-cli-tls-'));
const { PATH = '' } = process.env;
let certificate: Certificate;
let foreign: Certificate;
/** With TLS; asks for no client certificate. */
let open: TlsServer;
/** With TLS; requires a client certificate. */
let strict: TlsServer;
let plain: RunningServer;

interface TlsServer extends RunningServer {
  readonly tlsPort: number;
}

async function startTlsRedis(clients: 'yes' | 'no'): Promise<TlsServer> {
  const tlsPort = await freePort();
  const { certFile, keyFile } = certificate;
  const server = await startRealRedis(
    ...['--bind', '127.0.0.1', '127.0.0.2', '--tls-port', `${tlsPort}`],
    ...['--tls-cert-file', certFile, '--tls-key-file', keyFile],
    ...['--tls-ca-cert-file', certFile, '--tls-auth-clients', clients],
  );
  return { ...server, tlsPort };
}

beforeAll(async () => {
  certificate = issueCertificate(folder);
  mkdirSync(join(folder, 'foreign'));
  foreign = issueCertificate(join(folder, 'foreign'));
  [open, strict, plain] = await Promise.all([
    startTlsRedis('no'),
    startTlsRedis('yes'),
    startRealRedis('--requirepass', 'secret'),
  ]);
});
afterAll(async () => {
  await Promise.all([open, strict, plain].map((server) => server.stop()));
  rmSync(folder, { recursive: true });
});

/** The verbs that connect to a store, each in its own way. */
const VERBS = {
  cli: ['cli', 'PING'],
  ls: ['ls'],
  run: ['run', 'job', '--no-wait', '--', 'true'],
} as const;
const VERB_NAMES = Object.keys(VERBS) as (keyof typeof VERBS)[];

function start(verb: keyof typeof VERBS, store: string, ...options: string[]): Promise<Ended> {
  const [word, ...rest] = VERBS[verb];
  return runCli([word, '--store', store, ...options, ...rest], { environment: { PATH } });
}

describe.each(VERB_NAMES)('holdfast %s over TLS', (verb) => {
  it('trusts the certificate of --ca', async () => {
    const url = `rediss://127.0.0.1:${open.tlsPort}`;
    expect(await start(verb, url, '--ca', certificate.certFile)).toMatchObject({
      code: 0,
      errors: '',
    });
  });

  it('reads HOLDFAST_CA, HOLDFAST_CERT and HOLDFAST_KEY', async () => {
    const { certFile, keyFile } = certificate;
    const environment = {
      PATH,
      HOLDFAST_STORE: `rediss://127.0.0.1:${strict.tlsPort}`,
      HOLDFAST_CA: certFile,
      HOLDFAST_CERT: certFile,
      HOLDFAST_KEY: keyFile,
    };
    expect(await runCli([...VERBS[verb]], { environment })).toMatchObject({ code: 0, errors: '' });
  });

  it('names --ca when the certificate is self-signed', async () => {
    const { code, errors } = await start(verb, `rediss://127.0.0.1:${open.tlsPort}`);
    expect(errors).toMatch(
      /DEPTH_ZERO_SELF_SIGNED_CERT\)\. Name the CA certificate with --ca; .*\n$/,
    );
    expect(errors).not.toContain('holdfast serve');
    expect(code).toBe(verb === 'cli' ? 1 : 69);
  });

  it('says that the certificate is for another host', async () => {
    const url = `rediss://127.0.0.2:${open.tlsPort}`;
    const { errors } = await start(verb, url, '--ca', certificate.certFile);
    expect(errors).toMatch(/IP: 127\.0\.0\.2 is not .*\. Use a host in the address that the cert/);
  });

  it('names --cert and --key when the server requires a client certificate', async () => {
    const url = `rediss://127.0.0.1:${strict.tlsPort}`;
    const { errors } = await start(verb, url, '--ca', certificate.certFile);
    expect(errors).toMatch(/If the server asks for a client certificate, .*--cert and --key\.\n$/);
    const { certFile, keyFile } = certificate;
    const pair = ['--ca', certFile, '--cert', certFile, '--key', keyFile];
    expect(await start(verb, url, ...pair)).toMatchObject({ code: 0, errors: '' });
  });

  it('says that the server refuses the client certificate', async () => {
    const url = `rediss://127.0.0.1:${strict.tlsPort}`;
    const pair = ['--cert', foreign.certFile, '--key', foreign.keyFile];
    const { errors } = await start(verb, url, '--ca', certificate.certFile, ...pair);
    expect(errors).toMatch(/The server refuses the client certificate of --cert\.\n$/);
  });

  it('names rediss:// when a redis:// server uses TLS', async () => {
    const { errors } = await start(verb, `redis://127.0.0.1:${open.tlsPort}`);
    expect(errors).toMatch(/If the server uses TLS, write rediss:\/\/ instead of redis:\/\/\.\n$/);
  });

  it.each([
    ['NOAUTH', ''],
    ['WRONGPASS', ':wrong@'],
  ])('names HOLDFAST_PASSWORD after %s', async (code, user) => {
    const { output, errors } = await start(verb, `redis://${user}127.0.0.1:${plain.port}`);
    expect(`${output}${errors}`).toContain(code);
    expect(errors).toContain('Put the password into HOLDFAST_PASSWORD, or user and password into');
    expect(errors).not.toContain('wrong@');
  });

  it.each([
    [['--ca', '/nowhere.pem'], '--ca: cannot read /nowhere.pem (ENOENT).'],
    [['--ca', 'TEXT'], 'TEXT is not a certificate in PEM format.'],
    [['--cert', 'CERT'], '--cert and --key need each other: give both or none.'],
    [['--key', 'KEY'], '--cert and --key need each other: give both or none.'],
    [['--cert', 'CERT', '--key', 'OTHER-KEY'], 'OTHER-KEY is not the private key of CERT'],
    [['--cert', 'TEXT', '--key', 'KEY'], 'TEXT is not a certificate in PEM format.'],
  ])('refuses %j with 2', async (options, message) => {
    const paths = new Map([
      ['CERT', certificate.certFile],
      ['KEY', certificate.keyFile],
      ['OTHER-KEY', foreign.keyFile],
      ['TEXT', join(folder, 'text')],
    ]);
    writeFileSync(join(folder, 'text'), 'no certificate');
    const args = options.map((option) => paths.get(option) ?? option);
    const { code, errors } = await start(verb, `rediss://127.0.0.1:${open.tlsPort}`, ...args);
    const expected = message.replace(
      /[A-Z]+-?[A-Z]+\b(?= is| without|$)/g,
      (word) => paths.get(word) ?? word,
    );
    expect(errors).toContain(expected);
    expect(code).toBe(2);
  });

  it('refuses --ca with 2 when the store does not use TLS', async () => {
    const { code, errors } = await start(verb, 'redis://127.0.0.1:1', '--ca', certificate.certFile);
    expect(errors).toContain('--ca needs a store at rediss://….'.slice(0, 30));
    expect(code).toBe(2);
  });
});

// Each verb waits for seconds until it gives up: all wait at the same time.
it.concurrent.each(VERB_NAMES)(
  'holdfast %s over TLS names redis:// when the server does not use TLS',
  async (verb) => {
    const { errors } = await start(verb, `rediss://127.0.0.1:${plain.port}`);
    expect(errors).toMatch(
      /If the server does not use TLS, write redis:\/\/ instead of rediss:.*\n$/,
    );
  },
);

it('HOLDFAST_CA is ignored by a run on the local server', async () => {
  await using runner = startRun(['job', '--', 'echo', 'ran'], {
    HOLDFAST_CA: '/nowhere.pem',
    HOLDFAST_RUNTIME_DIR: join(folder, 'local'),
    HOLDFAST_LOCAL_IDLE_MS: '100',
  });
  expect(await runner.ended()).toBe(0);
  expect(runner.text).toBe('ran\n');
});
