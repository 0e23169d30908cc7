import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, describe, expect, it } from 'vitest';
import { Client, parseAddress } from '../src/client/index.ts';
import { ErrorReply } from '../src/resp/index.ts';
import { CertificateAuthority, type IssuedCertificate } from './certificate-authority.ts';
import { CliProcess, runCli } from './cli-process.ts';
import { freePort, startRealRedis } from './real-redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-serve-tls-'));
const authority = new CertificateAuthority(folder, 'own');
const foreign = new CertificateAuthority(folder, 'foreign');
const serverCertificate = authority.issue();
const clientCertificate = authority.issue({ subject: '/CN=client' });
const { PATH = '' } = process.env;
afterAll(() => rmSync(folder, { recursive: true }));

interface TlsServer extends AsyncDisposable {
  readonly process: CliProcess;
  readonly port: number;
}

async function startTls(
  { certFile, keyFile }: IssuedCertificate = serverCertificate,
  ...options: readonly string[]
): Promise<TlsServer> {
  const port = await freePort();
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile];
  const ca = ['--tls-ca-cert-file', authority.certFile];
  const place = ['--port', '0', '--tls-port', String(port)];
  const process = CliProcess.node(['serve', ...place, ...files, ...ca, ...options]);
  await process.waitFor(/listens on rediss:.*\n[\s\S]*Try/);
  return { process, port, [Symbol.asyncDispose]: () => process[Symbol.asyncDispose]() };
}

interface ClientFiles {
  readonly ca: string;
  readonly own?: IssuedCertificate | undefined;
}

/** Each client, sending SETNX. Resolves with the reply as text, or with the error. */
const CLIENTS = {
  async ioredis(port: number, { ca, own }: ClientFiles): Promise<string> {
    const tls = { ca: readFileSync(ca), ...keyPair(own) };
    const client = new Redis({ port, host: '127.0.0.1', tls, retryStrategy: () => null });
    // The reason of a connection that was refused comes as an event.
    const failed = new Promise<string>((resolve) => {
      client.on('error', ({ message }) => resolve(message));
    });
    const answered = client.setnx('job', 'v').then(String, (error: Error) => error.message);
    const text = await Promise.race([failed, answered]);
    client.disconnect();
    return text;
  },
  async 'node-redis'(port: number, { ca, own }: ClientFiles): Promise<string> {
    const tls = { tls: true as const, ca: readFileSync(ca), ...keyPair(own) };
    const client = createClient({
      socket: { port, host: '127.0.0.1', reconnectStrategy: false, ...tls },
    });
    client.on('error', () => {});
    try {
      await client.connect();
      return String(await client.setNX('job', 'v'));
    } catch (error) {
      return (error as Error).message;
    } finally {
      if (client.isOpen) client.destroy();
    }
  },
  async 'redis-cli'(port: number, { ca, own }: ClientFiles): Promise<string> {
    const pair = own === undefined ? [] : ['--cert', own.certFile, '--key', own.keyFile];
    const args = ['--tls', '--cacert', ca, ...pair, '-p', String(port), 'SETNX', 'job', 'v'];
    const { stdout, stderr } = await promisify(execFile)('redis-cli', args).catch((error) => error);
    return stdout + stderr;
  },
  async 'our client'(port: number, { ca, own }: ClientFiles): Promise<string> {
    const tls = { ca: readFileSync(ca), ...keyPair(own) };
    const client = new Client(parseAddress(`rediss://127.0.0.1:${port}`), { tls });
    try {
      const reply = await client.request(['SETNX', 'job', 'v']);
      return reply instanceof ErrorReply ? reply.message : String(reply);
    } catch (error) {
      return `${(error as Error).message} ${((error as Error).cause as Error | undefined)?.message}`;
    } finally {
      client.close();
    }
  },
  'holdfast cli': (port: number, files: ClientFiles) =>
    holdfast(port, files, 'cli', 'SETNX', 'job', 'v'),
  'holdfast ls': (port: number, files: ClientFiles) => holdfast(port, files, 'ls'),
  'holdfast run': (port: number, files: ClientFiles) =>
    holdfast(port, files, 'run', 'lock', '--wait', '20s', '--', 'true'),
} as const;

function keyPair(own: IssuedCertificate | undefined): { cert?: Buffer; key?: Buffer } {
  return own ? { cert: readFileSync(own.certFile), key: readFileSync(own.keyFile) } : {};
}

async function holdfast(
  port: number,
  { ca, own }: ClientFiles,
  verb: string,
  ...words: string[]
): Promise<string> {
  const pair = own === undefined ? [] : ['--cert', own.certFile, '--key', own.keyFile];
  const store = ['--store', `rediss://127.0.0.1:${port}`, '--ca', ca, ...pair];
  const before = verb === 'run' ? [words[0]!, ...store, ...words.slice(1)] : [...store, ...words];
  const { code, output, errors } = await runCli([verb, ...before], { environment: { PATH } });
  return code === 0 && errors === '' && verb !== 'cli' ? '1' : output + errors;
}

const NAMES = Object.keys(CLIENTS) as (keyof typeof CLIENTS)[];
const REFUSED_SERVER =
  /certificate|self.signed|unable to (?:verify|get)|not in the cert|CERT|UNABLE_TO|ALTNAME/i;

describe.each(NAMES)('%s over TLS', (name) => {
  const ask = CLIENTS[name];

  it('sends commands with a client certificate, and is refused without one', async () => {
    await using server = await startTls();
    const ca = authority.certFile;
    expect((await ask(server.port, { ca, own: clientCertificate })).trim()).toMatch(/^1$/);
    expect(await ask(server.port, { ca })).not.toMatch(/^[01]$/);
    expect(await ask(server.port, { ca, own: foreign.issue() })).not.toMatch(/^[01]$/);
    await server.process.waitFor(/closed 127.0.0.1:\d+: a client certificate is required\n/);
    await server.process.waitFor(/closed 127.0.0.1:\d+: the client certificate is refused \(/);
  });

  it('refuses a server whose certificate is of a foreign CA', async () => {
    await using server = await startTls(serverCertificate, '--tls-auth-clients', 'no');
    expect(await ask(server.port, { ca: foreign.certFile })).toMatch(REFUSED_SERVER);
    expect((await ask(server.port, { ca: authority.certFile })).trim()).toBe('1');
  });

  it('refuses a server whose certificate has expired', async () => {
    const expired = authority.issue({ days: -1 });
    const port = await freePort();
    const files = ['--tls-cert-file', expired.certFile, '--tls-key-file', expired.keyFile];
    const ca = ['--tls-ca-cert-file', authority.certFile, '--tls-auth-clients', 'no'];
    const redis = await startRealRedis('--tls-port', String(port), ...files, ...ca);
    try {
      expect(await ask(port, { ca: authority.certFile })).toMatch(
        /expired|certificate verify failed/,
      );
    } finally {
      await redis.stop();
    }
  });
});

// redis-cli does not compare names.
it.each(NAMES.filter((name) => name !== 'redis-cli'))(
  '%s refuses a server whose certificate is for another name',
  async (name) => {
    const other = authority.issue({ name: 'DNS:other.example' });
    await using server = await startTls(other, '--tls-auth-clients', 'no');
    const text = await CLIENTS[name](server.port, { ca: authority.certFile });
    expect(text).toMatch(/does not match certificate's altnames|IP: 127\.0\.0\.1 is not/);
  },
);

it.each(['holdfast cli', 'holdfast ls', 'holdfast run'] as const)(
  '%s names the option for the client certificate, not the password',
  async (name) => {
    await using server = await startTls();
    const ca = authority.certFile;
    const none = await CLIENTS[name](server.port, { ca });
    expect(none).toMatch(/ name it with --cert and --key\.\n$/);
    const refused = await CLIENTS[name](server.port, { ca, own: foreign.issue() });
    expect(refused).toMatch(/The server refuses the client certificate of --cert\.\n$/);
    expect(none + refused).not.toContain('HOLDFAST_PASSWORD');
  },
);

describe('holdfast serve --tls-port', () => {
  const own = serverCertificate;
  const files = ['--tls-cert-file', own.certFile, '--tls-key-file', own.keyFile];

  it('says who may enter, and has no other port with --port 0', async () => {
    await using server = await startTls();
    expect(server.process.text).toContain(
      `holdfast 0.1.0 listens on rediss://127.0.0.1:${server.port}. Ctrl-C stops it.\n` +
        'Data: in memory only: a restart forgets everything.\n' +
        'Access: programs on this machine, by TLS with a client certificate; no password is needed.\n',
    );
  });

  it('signs a client in as the user that its certificate names', async () => {
    const user = ['--tls-auth-clients-user', 'cn', '--password', 'secret'];
    await using server = await startTls(serverCertificate, ...user);
    const files = { ca: authority.certFile };
    expect(await CLIENTS['holdfast cli'](server.port, { ...files, own: authority.issue() })).toBe(
      '1\n',
    );
    const other = await CLIENTS['holdfast cli'](server.port, { ...files, own: clientCertificate });
    expect(other).toContain('NOAUTH Authentication required.');
  });

  it('takes a new certificate at SIGHUP and keeps clients; keeps the certificate if the new one is bad', async () => {
    const paths = { certFile: join(folder, 'live.crt'), keyFile: join(folder, 'live.key') };
    const install = ({ certFile, keyFile }: IssuedCertificate): void => {
      copyFileSync(certFile, paths.certFile);
      copyFileSync(keyFile, paths.keyFile);
    };
    install(authority.issue());
    await using server = await startTls(paths, '--tls-auth-clients', 'no');
    const address = parseAddress(`rediss://127.0.0.1:${server.port}`);
    const client = new Client(address, { tls: { ca: readFileSync(authority.certFile) } });
    const id = await client.request(['CLIENT', 'ID']);
    install(foreign.issue());
    server.process.child.kill('SIGHUP');
    await server.process.waitFor(/Z reloaded the certificate\n/);
    expect(await client.request(['CLIENT', 'ID'])).toEqual(id);
    const ask = CLIENTS['holdfast cli'];
    expect(await ask(server.port, { ca: authority.certFile })).toMatch(REFUSED_SERVER);
    expect(await ask(server.port, { ca: foreign.certFile })).toBe('1\n');
    writeFileSync(paths.keyFile, 'no key');
    server.process.child.kill('SIGHUP');
    await server.process.waitFor(/Z kept the certificate before: cannot use TLS: the key is not/);
    rmSync(paths.certFile);
    server.process.child.kill('SIGHUP');
    await server.process.waitFor(
      /Z kept the certificate before: --tls-cert-file: cannot read .* \(ENOENT\)/,
    );
    expect(await ask(server.port, { ca: foreign.certFile })).toBe('0\n');
    expect(await client.request(['CLIENT', 'ID'])).toEqual(id);
    client.close();
  });

  it.each([
    [
      ['--tls-port', '1'],
      /^holdfast: --tls-port needs --tls-ca-cert-file, the CA of the client certif/,
    ],
    [
      ['--tls-port', '1', '--tls-auth-clients', 'no'],
      /^holdfast: --tls-port needs --tls-cert-file\./,
    ],
    [
      ['--tls-port', '1', '--tls-auth-clients', 'maybe'],
      /^holdfast: --tls-auth-clients cannot be 'maybe' \(/,
    ],
    [
      ['--tls-port', '1', '--tls-auth-clients-user', 'O'],
      /^holdfast: --tls-auth-clients-user cannot be 'O'/,
    ],
    [files, /^holdfast: --tls-cert-file needs --tls-port\./],
    [['--tls-port', '65536'], /^holdfast: --tls-port cannot be '65536'/],
    [
      [
        '--tls-port',
        '1',
        '--tls-auth-clients',
        'no',
        '--tls-cert-file',
        '/nowhere',
        '--tls-key-file',
        'x',
      ],
      /^holdfast: --tls-cert-file: cannot read \/nowhere \(ENOENT\)\./,
    ],
  ])('refuses %j with 2', async (options, message) => {
    await using server = CliProcess.node(['serve', '--port', '0', ...options]);
    expect(await server.ended()).toBe(2);
    expect(server.text).toMatch(message);
  });

  it('refuses a certificate that has expired with 1', async () => {
    const { certFile, keyFile } = authority.issue({ days: -1 });
    const expired = ['--tls-cert-file', certFile, '--tls-key-file', keyFile];
    const options = ['--port', '0', '--tls-port', '1', '--tls-auth-clients', 'no'];
    await using server = CliProcess.node(['serve', ...options, ...expired]);
    expect(await server.ended()).toBe(1);
    expect(server.text).toMatch(/^holdfast: cannot use TLS: the certificate has expired on .+\n$/);
  });
});
