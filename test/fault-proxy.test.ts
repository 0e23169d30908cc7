import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FaultProxy, PASS } from './fault-proxy.ts';

/** Answers every chunk with the same in brackets, and remembers what came. */
let server: Server;
let heard: string;
let proxy: FaultProxy;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = createServer((socket) => {
    socket.setEncoding('latin1');
    socket.on('error', () => {});
    socket.on('data', (text: string) => {
      heard += text;
      socket.write(`[${text}]`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
beforeEach(async () => {
  heard = '';
  proxy = await FaultProxy.start((server.address() as { port: number }).port);
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await proxy[Symbol.asyncDispose]();
});
afterAll(() => server.close());

async function open(): Promise<Socket> {
  const socket = connect(proxy.port, '127.0.0.1').setEncoding('latin1');
  sockets.push(socket);
  await once(socket, 'connect');
  return socket;
}

/** What the socket hears until `length` characters came, or until it ends. */
async function hears(socket: Socket, length: number): Promise<string> {
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.length >= length) break;
  }
  return text;
}

async function say(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  return hears(socket, text.length + 2);
}

describe('the proxy', () => {
  it('passes what is said, both ways', async () => {
    const socket = await open();
    expect(await say(socket, 'a')).toBe('[a]');
    expect(proxy.links).toHaveLength(1);
    expect(proxy.link('a').replies.text).toBe('[a]');
    expect(() => proxy.link('zzz')).toThrow("no link carries 'zzz'");
    socket.destroy();
    await once(socket, 'close');
  });

  it.each([0, 1, 2, 3])('cuts after %i bytes of a request', async (afterBytes) => {
    const socket = await open();
    await say(socket, 'abc');
    proxy.link('abc').set({ kind: 'cut', way: 'requests', afterBytes });
    socket.write('xyz');
    await once(socket, 'close');
    while (heard.length < 3 + afterBytes) await new Promise(setImmediate);
    expect(heard).toBe(`abc${'xyz'.slice(0, afterBytes)}`);
    expect(await say(await open(), 'again')).toBe('[again]');
  });

  it.each([0, 1, 4, 5])('cuts after %i bytes of a reply', async (afterBytes) => {
    const socket = await open();
    await say(socket, 'abc');
    proxy.link('abc').set({ kind: 'cut', way: 'replies', afterBytes });
    expect(await say(socket, 'wxyz')).toBe('[wxyz]'.slice(0, afterBytes));
    expect(heard).toBe('abcwxyz');
  });

  it('swallows requests, and ends the link that has lost some', async () => {
    const socket = await open();
    await proxy.set({ kind: 'swallow', way: 'requests' });
    socket.write('lost');
    while (proxy.links[0]!.requests.text === '') await new Promise(setImmediate);
    const ended = once(socket, 'close');
    await proxy.set(PASS);
    await ended;
    expect(heard).toBe('');
  });

  it('swallows replies', async () => {
    const socket = await open();
    await proxy.set({ kind: 'swallow', way: 'replies' });
    const ended = hears(socket, 1);
    socket.write('heard');
    while (proxy.links[0]!.replies.text === '') await new Promise(setImmediate);
    await proxy.set(PASS);
    expect(await ended).toBe('');
    expect(heard).toBe('heard');
  });

  it('delays, in order, and lets nothing overtake', async () => {
    const socket = await open();
    await proxy.set({ kind: 'delay', delayMs: 60 });
    const beganMs = performance.now();
    socket.write('slow');
    while (proxy.links[0]!.requests.text === '') await new Promise(setImmediate);
    await proxy.set({ kind: 'delay', delayMs: 20, way: 'replies' });
    socket.write('fast');
    expect(await hears(socket, 10)).toBe('[slowfast]');
    expect(performance.now() - beganMs).toBeGreaterThan(79);
  });

  it('delivers late what was sent by who has gone', async () => {
    const socket = await open();
    await proxy.set({ kind: 'delay', delayMs: 50, way: 'requests' });
    socket.end('ghost');
    await once(socket.resume(), 'close');
    while (heard === '') await new Promise(setImmediate);
    expect(heard).toBe('ghost');
  });

  it('resets', async () => {
    const socket = await open();
    const [[error]] = await Promise.all([once(socket, 'error'), proxy.set({ kind: 'reset' })]);
    expect(error.code).toBe('ECONNRESET');
  });

  it('refuses, and comes back at the same port', async () => {
    const socket = await open();
    const broken = once(socket, 'error');
    await proxy.set({ kind: 'refuse' });
    await broken;
    const [error] = await once(connect(proxy.port, '127.0.0.1'), 'error');
    expect(error.code).toBe('ECONNREFUSED');
    await proxy.set(PASS);
    expect(await say(await open(), 'back')).toBe('[back]');
  });

  it('harms one link and not the other', async () => {
    const [first, second] = [await open(), await open()];
    await say(first, 'first');
    await say(second, 'second');
    const ended = once(first, 'close');
    proxy.link('first').set({ kind: 'cut', way: 'requests', afterBytes: 0 });
    first.write('x');
    await ended;
    expect(await say(second, 'still here')).toBe('[still here]');
  });
});
