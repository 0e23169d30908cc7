import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect as connectPlain, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../src/clock/index.ts';
import { createEngine, type EngineOptions } from '../src/engine/index.ts';
import { type Server, startServer, type TlsOptions } from '../src/server/index.ts';
import { certificateUser, TlsHandshakes } from '../src/server/tls.ts';
import { CertificateAuthority, type IssuedCertificate } from './certificate-authority.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-server-tls-'));
const authority = new CertificateAuthority(folder, 'own');
const foreign = new CertificateAuthority(folder, 'foreign');
const certificate = authority.issue();
const ca = readFileSync(authority.certFile);
const BROKEN = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(() => rmSync(folder, { recursive: true }));

function contents({ certFile, keyFile }: IssuedCertificate): { cert: Buffer; key: Buffer } {
  return { cert: readFileSync(certFile), key: readFileSync(keyFile) };
}

async function serve(
  tls: Partial<TlsOptions> = {},
  settings: NonNullable<EngineOptions['settings']> = {},
  port = 0,
): Promise<Server & { reports: string[] }> {
  const engine = createEngine({ settings });
  const reports: string[] = [];
  const server = await startServer({
    engine,
    port,
    tls: { port: 0, ...contents(certificate), ca, ...tls },
    report: (message) => reports.push(message),
  });
  cleanups.push(async () => {
    await server.close();
    engine.close();
  });
  return Object.assign(server, { reports });
}

function open(server: Server, options: ConnectionOptions = {}): TLSSocket {
  const socket = connect({ port: server.tlsPort, host: '127.0.0.1', ca, ...options });
  cleanups.push(() => socket.destroy());
  return socket;
}

/** What a client receives for a command until the first line ends or the connection does. */
async function ask(socket: TLSSocket, command = 'PING'): Promise<string> {
  let text = '';
  socket.on('error', (error: NodeJS.ErrnoException) => {
    text += error.code;
  });
  socket.write(`${command}\r\n`);
  await new Promise<void>((resolve) => {
    socket.on('close', () => resolve());
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (text.includes('\r\n')) resolve();
    });
  });
  return text;
}

describe('a port for TLS', () => {
  it('answers a client with a certificate of the CA', async () => {
    const server = await serve();
    expect(server.port).toBe(0);
    expect(server.addresses).toEqual([`rediss://127.0.0.1:${server.tlsPort}`]);
    expect(await ask(open(server, contents(authority.issue())))).toBe('+PONG\r\n');
  });

  it.each([
    ['yes', 'none', /^-NOAUTH a client certificate is required\.\r\n/],
    ['yes', 'foreign', /^-NOAUTH the client certificate is refused \([A-Z_]+\)\.\r\n/],
    ['yes', 'expired', /^-NOAUTH the client certificate is refused \(CERT_HAS_EXPIRED\)\.\r\n/],
    ['yes', 'own', /^\+PONG/],
    ['optional', 'none', /^\+PONG/],
    ['optional', 'foreign', /^-NOAUTH the client certificate is refused/],
    [
      'optional',
      'expired',
      /^-NOAUTH the client certificate is refused \(CERT_HAS_EXPIRED\)\.\r\n/,
    ],
    ['optional', 'own', /^\+PONG/],
    ['no', 'none', /^\+PONG/],
    ['no', 'foreign', /^\+PONG/],
  ] as const)('with client certificates %s, one of kind %s', async (clients, kind, reply) => {
    const certificates = {
      none: {},
      foreign: contents(foreign.issue()),
      expired: contents(authority.issue({ days: -1 })),
      own: contents(authority.issue()),
    };
    const server = await serve({ clients });
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      expect(await ask(open(server, { ...certificates[kind], maxVersion }))).toMatch(reply);
    }
    expect(server.reports.length).toBe(reply.source.includes('NOAUTH') ? 2 : 0);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'refuses a resumed %s session of a client that was refused without a certificate',
    async (maxVersion) => {
      const server = await serve();
      const first = open(server, { maxVersion });
      const sessions: Buffer[] = [];
      first.on('session', (session) => sessions.push(session));
      await ask(first);
      first.destroy();
      await once(first, 'close');
      expect(sessions.length).toBeGreaterThan(0);
      for (const session of sessions) {
        expect(await ask(open(server, { session, maxVersion }))).toMatch(/^-NOAUTH/);
      }
    },
  );

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'resumes a %s session with a client certificate, but not after another CA was loaded',
    async (maxVersion) => {
      const server = await serve();
      const client = { ...contents(authority.issue()), maxVersion };
      const first = open(server, client);
      const sessions: Buffer[] = [];
      first.on('session', (session) => sessions.push(session));
      expect(await ask(first)).toBe('+PONG\r\n');
      const second = open(server, { ...client, session: sessions[0]! });
      expect(await ask(second)).toBe('+PONG\r\n');
      expect(second.isSessionReused()).toBe(true);
      server.setCertificate({ ...contents(certificate), ca: readFileSync(foreign.certFile) });
      const third = open(server, { ...client, session: sessions.at(-1)! });
      expect(await ask(third)).toMatch(/^-NOAUTH the client certificate is refused/);
      expect(third.isSessionReused()).toBe(false);
    },
  );

  it('refuses TLS 1.1', async () => {
    const server = await serve({ clients: 'no' });
    const old = {
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL@SECLEVEL=0',
    } as const;
    expect(await ask(open(server, old))).toBe('EPROTO');
    expect(server.reports[0]).toMatch(
      /^refused 127\.0\.0\.1:\d+ at the TLS handshake: unsupported protocol/,
    );
  });

  it('logs a client without TLS, closes it, and serves the next', async () => {
    const server = await serve({ clients: 'no' });
    const plain = connectPlain(server.tlsPort, '127.0.0.1');
    plain.on('error', () => {});
    plain.resume().write('PING\r\n'.repeat(10));
    await once(plain, 'close');
    expect(server.reports[0]).toMatch(/at the TLS handshake: (wrong version number|http request)$/);
    expect(await ask(open(server))).toBe('+PONG\r\n');
  });

  it('sends the replies of one turn in one TLS record', async () => {
    const server = await serve({ clients: 'no' });
    const socket = open(server);
    await once(socket, 'secureConnect');
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.write('PING\r\n'.repeat(100));
    while (Buffer.concat(chunks).length < 700) await once(socket, 'data');
    // A slow machine may need a second turn.
    expect(chunks.length).toBeLessThanOrEqual(3);
  });

  it('closes without waiting for a handshake that does not go on', { timeout: 6_000 }, async () => {
    const server = await serve({ clients: 'no' });
    const silent = connectPlain(server.tlsPort, '127.0.0.1');
    silent.on('error', () => {});
    await once(silent, 'connect');
    // The server accepts in order: it has the silent one when the next is served.
    await ask(open(server));
    const closed = once(silent.resume(), 'close');
    await server.close();
    await closed;
  });

  it('limits the number and the duration of handshakes', async () => {
    const failed: string[] = [];
    const handshakes = new TlsHandshakes(
      { port: 0, ...contents(certificate), clients: 'no' },
      systemClock,
      { connected: () => {}, failed: (_, reason) => failed.push(reason) },
      { maxPending: 1, timeoutMs: 100 },
    );
    const begun: boolean[] = [];
    const listener = createServer((socket) => begun.push(handshakes.begin(socket)));
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    cleanups.push(() => listener.close());
    const { port } = listener.address() as AddressInfo;
    const clients = [connectPlain(port, '127.0.0.1'), connectPlain(port, '127.0.0.1')];
    cleanups.push(() => clients.map((client) => client.destroy()));
    await once(clients[0]!.resume(), 'close');
    expect(begun).toEqual([true, false]);
    expect(failed).toEqual(['ERR_TLS_HANDSHAKE_TIMEOUT']);
    await vi.waitFor(() => expect(handshakes.pendingCount).toBe(0));
  });

  it('counts handshakes as clients', async () => {
    const server = await serve({ clients: 'no' }, { maxclients: '1' });
    const silent = connectPlain(server.tlsPort, '127.0.0.1');
    await once(silent, 'connect');
    expect(await ask(open(server))).toMatch(/^ECONNRESET|^$/);
    expect(server.reports[0]).toMatch(/at the TLS handshake: too many clients or handshakes$/);
    silent.destroy();
    // The server may notice later that the client has gone.
    while ((await ask(open(server))) !== '+PONG\r\n');
  });

  it('uses a new certificate for new clients, and keeps the connected ones', async () => {
    const server = await serve({ clients: 'no' });
    const before = open(server);
    expect(await ask(before)).toBe('+PONG\r\n');
    server.setCertificate(contents(foreign.issue()));
    expect(await ask(open(server))).toMatch(/UNABLE_TO|SELF_SIGNED/);
    expect(await ask(open(server, { ca: readFileSync(foreign.certFile) }))).toBe('+PONG\r\n');
    expect(await ask(before)).toContain('+PONG\r\n');
  });

  it.each([
    ['text', () => ({ cert: 'no certificate' }), 'the certificate is not in PEM format'],
    [
      'the key of another',
      () => ({ key: contents(foreign.issue()).key }),
      'the key is not the private key',
    ],
    [
      'an expired certificate',
      () => contents(authority.issue({ days: -1 })),
      'the certificate has expired on',
    ],
    ['a bad CA', () => ({ ca: 'text' }), 'the CA certificate is not in PEM format'],
    [
      'a file of CAs with one that cannot be read',
      () => ({ ca: `${ca}${BROKEN}` }),
      'certificate 2 of the CA certificate file cannot be read',
    ],
    [
      'an intermediate certificate that cannot be read',
      () => ({ cert: `${contents(certificate).cert}${BROKEN}` }),
      'certificate 2 of the certificate file cannot be read',
    ],
    ['no CA', () => ({ ca: undefined }), 'client certificates need the CA certificate'],
  ])(
    'refuses %s at the start, and keeps the certificate before at a reload',
    async (_, change, message) => {
      const changed = { ...contents(certificate), ca, ...change() };
      await expect(serve(changed)).rejects.toThrow(message);
      const server = await serve();
      expect(() => server.setCertificate(changed)).toThrow(message);
      expect(await ask(open(server, contents(authority.issue())))).toBe('+PONG\r\n');
    },
  );

  it('uses every CA of a file, of which the first may have expired', async () => {
    const { cert: expired } = contents(authority.issue({ days: -1 }));
    const server = await serve({ ca: `${expired}${readFileSync(foreign.certFile)}${ca}` });
    for (const issuer of [authority, foreign]) {
      expect(await ask(open(server, contents(issuer.issue())))).toBe('+PONG\r\n');
    }
  });

  it('listens beyond loopback only with a password', async () => {
    const engine = createEngine();
    const tls = { port: 0, ...contents(certificate), ca };
    const started = startServer({ engine, host: '0.0.0.0', port: 0, tls });
    await expect(started).rejects.toThrow('refused to listen on 0.0.0.0 without a password');
    engine.close();
  });
});

describe('the user of a certificate', () => {
  const password = { requirepass: 'secret' };

  it.each([
    ['/CN=default', 'CN', /^\+PONG/],
    ['/CN=default', 'off', /^-NOAUTH Authentication required/],
    ['/CN=other', 'CN', /^-NOAUTH Authentication required/],
    ['/O=default', 'CN', /^-NOAUTH the client certificate must have one CN, of printable ASCII/],
    ['/CN=default/CN=other', 'CN', /^-NOAUTH the client certificate must have one CN/],
    ['/CN=default\nCN=other', 'CN', /^-NOAUTH the client certificate must have one CN/],
    ['/CN=default ', 'CN', /^-NOAUTH the client certificate must have one CN/],
  ] as const)('%j with %s', async (subject, user, reply) => {
    const server = await serve({ user }, password);
    const client = contents(authority.issue({ subject }));
    expect(await ask(open(server, client))).toMatch(reply);
  });

  it('has the rights of ACL, and is no user while it is off', async () => {
    const server = await serve({ user: 'CN' }, password);
    const client = contents(authority.issue({ subject: '/CN=reader' }));
    const admin = open(server, contents(authority.issue()));
    expect(await ask(admin, 'ACL SETUSER reader on ~* +get')).toBe('+OK\r\n');
    expect(await ask(open(server, client), 'GET k')).toBe('$-1\r\n');
    expect(await ask(open(server, client), 'SET k v')).toMatch(/^-NOPERM/);
    expect(await ask(admin, 'ACL SETUSER reader off')).toMatch(/OK/);
    expect(await ask(open(server, client), 'GET k')).toMatch(/^-NOAUTH Authentication required/);
  });

  it('is refused if it has a NUL, where another program would cut it', async () => {
    const server = await serve({ user: 'CN' }, password);
    const issued = authority.issue({ subject: '/CN=default_evil' });
    const other = contents(authority.forge(issued, 'default_evil', 'default evil'));
    const cut = contents(authority.forge(issued, 'default_evil', 'default\0evil'));
    const same = contents(authority.forge(issued, 'default_evil', 'defaultXevil'));
    expect(await ask(open(server, same))).toMatch(/^-NOAUTH Authentication required/);
    for (const client of [other, cut]) {
      expect(await ask(open(server, client))).toMatch(/^-NOAUTH the client certificate must have/);
    }
  });

  it('is not used without a certificate', async () => {
    const server = await serve({ user: 'CN', clients: 'optional' }, password);
    expect(await ask(open(server))).toMatch(/^-NOAUTH Authentication required/);
  });

  it.each([
    [{ CN: 'default' }, 'default'],
    [{ CN: 'default\0.example' }, undefined],
    [{ CN: 'défault' }, undefined],
    [{ CN: 'ｄefault' }, undefined],
    [{ CN: 'default\x7f' }, undefined],
    [{ CN: ['default', 'default'] }, undefined],
    [{ CN: '' }, undefined],
    [{ CN: 'x'.repeat(65) }, undefined],
    [{}, undefined],
  ])('of the subject %j is %j', (subject, name) => {
    expect(certificateUser(subject)).toBe(name);
  });
});

it('a ClientHello on a port without TLS closes the client with a log line', async () => {
  const engine = createEngine();
  const reports: string[] = [];
  const server = await startServer({ engine, port: 0, report: (message) => reports.push(message) });
  cleanups.push(() => server.close());
  const socket = connect({ port: server.port, host: '127.0.0.1' });
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.on('error', () => {});
  await closed;
  expect(reports).toEqual([
    expect.stringMatching(/^closed 127\.0\.0\.1:\d+: it uses TLS on a port without TLS$/),
  ]);
});
