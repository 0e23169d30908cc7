import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withSharedInput } from './shared-input.ts';

let listener: Server;
const clients: Socket[] = [];

beforeEach(async () => {
  listener = createServer({ allowHalfOpen: true });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
});

afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  listener.close();
});

/** A client, and the socket of the server for it. */
async function connected(): Promise<{ client: Socket; socket: Socket }> {
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1');
  clients.push(client);
  const [accepted] = (await once(listener, 'connection')) as [Socket];
  return { client, socket: withSharedInput(accepted) };
}

describe('withSharedInput', () => {
  it('reads into its own buffer, not into a new one of Node for each chunk', async () => {
    const { client, socket } = await connected();
    client.write('PING\r\n');
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString()).toBe('PING\r\n');
    // A copy that Buffer.from has made, in the pool that many small buffers share.
    expect(chunk.buffer.byteLength).toBe(Buffer.poolSize);
  });

  it.each([5, 60_000])(
    'emits copies of %d bytes, which stay when other sockets read',
    async (size) => {
      const [first, second] = [await connected(), await connected()];
      first.client.write('1'.repeat(size));
      const [kept] = (await once(first.socket, 'data')) as [Buffer];
      second.client.write('2'.repeat(size));
      await once(second.socket, 'data');
      expect(kept.toString()).toBe('1'.repeat(kept.length));
    },
  );

  it('emits nothing while paused, then everything in order, and then the end', async () => {
    const { client, socket } = await connected();
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString();
      socket.pause();
    });
    client.write('a'.repeat(100_000));
    await once(socket, 'data');
    const atPause = text.length;
    client.end('z');
    await new Promise((resolve) => client.once('finish', resolve));
    expect(text.length).toBe(atPause);
    const end = once(socket, 'end');
    socket.on('pause', () => setImmediate(() => socket.resume()));
    socket.resume();
    await end;
    expect(text).toBe(`${'a'.repeat(100_000)}z`);
  });

  it('lets the listener close when the last socket has closed, not before', async () => {
    const { client, socket } = await connected();
    let isClosed = false;
    const closed = new Promise((resolve) => listener.close(resolve)).then(() => {
      isClosed = true;
    });
    socket.write('still open');
    await once(client, 'data');
    expect(isClosed).toBe(false);
    socket.destroy();
    await closed;
    expect(isClosed).toBe(true);
  });

  it('returns a socket without a handle as it is', () => {
    const socket = new Socket();
    expect(withSharedInput(socket)).toBe(socket);
  });
});
