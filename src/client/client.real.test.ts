import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { SimpleReply } from '../resp/index.ts';
import { Client, ConnectionError, parseAddress } from './index.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A server that calls `serve` for each connection. */
async function listen(serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    serve(socket);
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return server;
}

function addressOf(server: Server) {
  const { port } = server.address() as AddressInfo;
  return parseAddress(`redis://127.0.0.1:${port}`);
}

/** Replies to every request with +OK. */
function replyOk(socket: Socket, onChunk: (text: string) => void = () => {}): void {
  socket.on('data', (chunk: Buffer) => {
    onChunk(chunk.toString());
    const requests = chunk.toString().match(/^\*\d+\r$/gm)?.length ?? 0;
    socket.write('+OK\r\n'.repeat(requests));
  });
}

const OK = expect.objectContaining({ text: 'OK' });

describe('a client', () => {
  it('connects with its first request, and sends those of one turn in two writes at most', async () => {
    const server = await listen((socket) => replyOk(socket));
    const client = new Client(addressOf(server));
    await client.request(['PING']);
    const writes = vi.spyOn(Socket.prototype, 'write');
    const replies = await Promise.all(['a', 'b', 'c'].map((key) => client.request(['GET', key])));
    expect(replies).toEqual([OK, OK, OK]);
    const get = (key: string): string => `*2\r\n$3\r\nGET\r\n$1\r\n${key}\r\n`;
    const sent = writes.mock.calls.map(([text]) => text).filter((text) => /GET/.test(String(text)));
    writes.mockRestore();
    expect(sent).toEqual([get('a'), get('b') + get('c')]);
    client.close();
  });

  it('keeps the order of requests that were made before and after it was connected', async () => {
    const keys: string[] = [];
    const server = await listen((socket) =>
      replyOk(socket, (text) => keys.push(...(text.match(/(?<=\r\n)k\d+/g) ?? []))),
    );
    const client = new Client(addressOf(server));
    const replies: Promise<unknown>[] = [];
    for (let turn = 0; turn < 200; turn++) {
      replies.push(client.request(['GET', `k${turn}`]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(replies);
    expect(keys).toEqual(Array.from({ length: 200 }, (_, turn) => `k${turn}`));
    client.close();
  });

  it('fails pending requests when the connection ends, and connects again', async () => {
    let connections = 0;
    const server = await listen((socket) => {
      if (++connections === 1) socket.once('data', () => socket.destroy());
      else replyOk(socket);
    });
    const client = new Client(addressOf(server));
    await expect(client.request(['GET', 'a'])).rejects.toThrow(/was lost before the answer came/);
    expect(await client.request(['GET', 'a'])).toEqual(OK);
    client.close();
  });

  it('fails with the reason when it cannot connect, and pauses before the next attempt', async () => {
    const server = await listen(() => {});
    const address = addressOf(server);
    server.close();
    await once(server, 'close');
    const clock = virtualClock();
    const client = new Client(address, { clock });
    await expect(client.request(['PING'])).rejects.toThrow(/ECONNREFUSED/);
    let isOver = false;
    const second = client.request(['PING']).catch((error: unknown) => {
      isOver = true;
      return error;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    clock.advance(50);
    expect(await second).toBeInstanceOf(ConnectionError);
    client.close();
  });

  it('fails with the reply of the server when AUTH is refused', async () => {
    const server = await listen((socket) =>
      socket.on('data', () => socket.write('-WRONGPASS no\r\n')),
    );
    const client = new Client({ ...addressOf(server), password: 'secret' });
    await expect(client.request(['PING'])).rejects.toThrow('WRONGPASS no');
    client.close();
  });

  it('closes the connection when a reply does not arrive in time', async () => {
    const server = await listen(() => {});
    const clock = virtualClock();
    const client = new Client(addressOf(server), { clock, requestTimeoutMs: 1000 });
    const connected = once(server, 'connection');
    const request = client.request(['PING']).catch((error: unknown) => error);
    const [socket] = (await connected) as [Socket];
    await once(socket, 'data');
    const ended = once(socket.resume(), 'close');
    clock.advance(1500);
    expect(await request).toMatchObject({ message: expect.stringContaining('within 1000 ms') });
    await ended;
    client.close();
  });

  it('closes an idle connection when a PING gets no reply', async () => {
    const server = await listen((socket) => socket.once('data', () => socket.write('+OK\r\n')));
    const clock = virtualClock();
    const client = new Client(addressOf(server), { clock });
    let reason: Error | undefined;
    const closed = new Promise<void>((resolve) => {
      void client
        .open({
          onClose: (error) => {
            reason = error;
            resolve();
          },
        })
        .then(async (connection) => {
          expect(await connection.request(['SUBSCRIBE', 'a'])).toBeInstanceOf(SimpleReply);
          for (let turn = 0; turn < 6; turn++) clock.advance(1500);
        });
    });
    await closed;
    expect(reason?.message).toBe('no answer within 3000 ms');
  });

  it('fails all requests after close(), which may be called twice', async () => {
    const server = await listen((socket) => replyOk(socket));
    const client = new Client(addressOf(server));
    await client.request(['PING']);
    client.close();
    client.close();
    await expect(client.request(['PING'])).rejects.toThrow('the client is closed');
  });

  it('returns an array that looks like a message as a reply unless it has subscribed', async () => {
    const message = '*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n';
    const server = await listen((socket) => socket.on('data', () => socket.write(message)));
    const client = new Client(addressOf(server));
    expect(await client.request(['LRANGE', 'a', '0', '-1'])).toEqual(['message', 'a', 'b']);
    client.close();
  });
});

describe('an address', () => {
  it('has host, port, user, password and database', () => {
    expect(parseAddress('rediss://me:p%40ss@[::1]:7001/3')).toEqual({
      label: '[::1]:7001',
      socket: { host: '::1', port: 7001 },
      isSecure: true,
      user: 'me',
      password: 'p@ss',
      database: 3,
    });
    for (const text of ['unix:/run/a%20b', 'unix:/run/a b', 'unix:///run/a b']) {
      expect(parseAddress(text).socket).toEqual({ path: '/run/a b' });
    }
  });

  it.each([
    ['host:6379', /is not known/],
    ['redis://host/x', /A database is a number/],
    ['redis://host?db=3', /no options after a \?/],
    ['redis://:100%@host', /written as %25/],
    ['unix:socket', /A socket has a path/],
    ['', /cannot be read/],
    [' redis://host', /cannot be read/],
  ])('%s is refused', (text, message) => {
    expect(() => parseAddress(text)).toThrow(message);
    expect(() => parseAddress(text)).not.toThrow('secret');
  });
});
