import { spawnSync } from 'node:child_process';
import {
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createEngine, type Engine, type EngineOptions } from '../engine/index.ts';
import { encodeRequest } from '../resp/index.ts';
import { type Server, type ServerOptions, startServer } from './index.ts';

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Settings = NonNullable<EngineOptions['settings']>;

async function serve(
  settings: Settings = {},
  options: Partial<ServerOptions> = {},
): Promise<Server & { reports: string[]; engine: Engine }> {
  const engine = createEngine({ settings });
  const reports: string[] = [];
  const report = (message: string): unknown => reports.push(message);
  const server = await startServer({ engine, port: 0, report, ...options });
  cleanups.push(async () => {
    await server.close();
    engine.close();
  });
  return Object.assign(server, { reports, engine });
}

/** A client that collects received bytes and can wait for them. */
class Client {
  readonly socket: Socket;
  text = '';
  isClosed = false;
  chunks = 0;
  #notify: () => void = () => {};

  constructor(where: { port: number } | { path: string }) {
    this.socket = connect(where);
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk) => {
      this.chunks++;
      this.text += chunk.toString('latin1');
      this.#notify();
    });
    this.socket.on('close', () => {
      this.isClosed = true;
      this.#notify();
    });
    this.socket.on('error', () => {});
    cleanups.push(() => this.socket.destroy());
  }

  write(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  command(...argv: string[]): this {
    return this.write(encodeRequest(argv));
  }

  async until(done: () => boolean): Promise<void> {
    while (!done()) {
      await new Promise<void>((resolve) => {
        this.#notify = resolve;
      });
    }
  }

  /** Waits until exactly this text has arrived, and removes it. */
  async expect(text: string): Promise<void> {
    await this.until(() => this.text.length >= text.length || this.isClosed);
    expect(this.text).toBe(text);
    this.text = '';
  }

  async closed(): Promise<void> {
    await this.until(() => this.isClosed);
  }
}

describe('replies', () => {
  it('sends the replies to one chunk in one write', async () => {
    const { port } = await serve();
    const client = new Client({ port });
    await client.command('PING').expect('+PONG\r\n');
    client.write(encodeRequest(['PING']).repeat(100));
    await client.expect('+PONG\r\n'.repeat(100));
    expect(client.chunks).toBe(2);
  });

  it('answers inline commands', async () => {
    const { port } = await serve();
    await new Client({ port })
      .write('SETNX job "a b"\r\nGET job\r\n')
      .expect(':1\r\n$3\r\na b\r\n');
  });

  it('keeps the order of a pipeline around a blocked command', async () => {
    const { port } = await serve();
    const waiter = new Client({ port });
    waiter.command('BLPOP', 'list', '0').command('PING').command('GET', 'list');
    const other = new Client({ port });
    await other.command('PING').expect('+PONG\r\n');
    expect(waiter.text).toBe('');
    await other.command('RPUSH', 'list', 'x').expect(':1\r\n');
    await waiter.expect('*2\r\n$4\r\nlist\r\n$1\r\nx\r\n+PONG\r\n$-1\r\n');
  });

  it('keeps the order of requests that arrive one by one around two blocked commands', async () => {
    const { port } = await serve();
    const [client, other] = [new Client({ port }), new Client({ port })];
    /** Sends the request as a chunk of its own: the server has read it when it has replied to another client. */
    const send = async (...argv: string[]): Promise<void> => {
      client.command(...argv);
      for (let turn = 0; turn < 3; turn++) await other.command('PING').expect('+PONG\r\n');
    };
    await send('BLPOP', 'x', '0');
    await send('BLPOP', 'y', '0');
    await send('PING');
    await send('ECHO', 'first');
    await other.command('RPUSH', 'x', '1').expect(':1\r\n');
    await client.expect('*2\r\n$1\r\nx\r\n$1\r\n1\r\n');
    await send('ECHO', 'second');
    await other.command('RPUSH', 'y', '2').expect(':1\r\n');
    await client.expect('*2\r\n$1\r\ny\r\n$1\r\n2\r\n+PONG\r\n$5\r\nfirst\r\n$6\r\nsecond\r\n');
  });

  it('removes a blocked client that disconnects', async () => {
    const server = await serve();
    const waiter = new Client(server).command('BLPOP', 'list', '0');
    const other = new Client(server);
    await other.command('PING').expect('+PONG\r\n');
    waiter.socket.destroy();
    await waiter.closed();
    while (server.connectionCount > 1) await other.command('PING').expect('+PONG\r\n');
    await other.command('RPUSH', 'list', 'x').expect(':1\r\n');
    await other.command('LLEN', 'list').expect(':1\r\n');
  });

  it('does not send replies that CLIENT REPLY turned off', async () => {
    const { port } = await serve();
    const client = new Client({ port });
    client.command('CLIENT', 'REPLY', 'SKIP').command('PING').command('ECHO', 'one');
    client.command('CLIENT', 'REPLY', 'OFF').command('PING').command('CLIENT', 'REPLY', 'ON');
    await client.command('ECHO', 'two').expect('$3\r\none\r\n+OK\r\n$3\r\ntwo\r\n');
  });

  it('sends the confirmations of SUBSCRIBE in CLIENT REPLY OFF', async () => {
    const { port } = await serve();
    const client = new Client({ port });
    client.command('CLIENT', 'REPLY', 'OFF').command('PING').command('SUBSCRIBE', 'a');
    await client
      .command('UNSUBSCRIBE', 'a')
      .command('CLIENT', 'REPLY', 'ON')
      .until(() => client.text.endsWith('OK\r\n'));
    await client.expect(
      '*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n+OK\r\n',
    );
  });

  it('sends all replies to a client that has closed its sending side', async () => {
    const { port } = await serve();
    const client = new Client({ port });
    // As long as Node's read buffer, so that the end of the stream arrives in the same turn as the last commands.
    const pings = encodeRequest(['PING']).repeat(4096);
    const padding = encodeRequest(['ECHO', 'x'.repeat(2 ** 16 - (pings.length % 2 ** 16) - 23)]);
    expect((pings.length + padding.length) % 2 ** 16).toBe(0);
    client.socket.end(padding + pings, 'latin1');
    await client.closed();
    expect(client.text.endsWith('+PONG\r\n'.repeat(4096))).toBe(true);
  });

  it('sends the reply of a delayed AUTH to a client that has closed its sending side', async () => {
    const { port } = await serve({ requirepass: 'secret' });
    const wrong = new Client({ port });
    for (let attempt = 0; attempt < 8; attempt++) {
      await wrong.command('AUTH', 'wrong').until(() => wrong.text.includes('WRONGPASS'));
      wrong.text = '';
    }
    const client = new Client({ port });
    client.socket.end(encodeRequest(['AUTH', 'secret']) + encodeRequest(['PING']), 'latin1');
    await client.closed();
    expect(client.text).toBe('+OK\r\n+PONG\r\n');
  });

  it('sends the replies to a short pipeline together, also behind a client that takes long', async () => {
    const { port } = await serve();
    const [slow, client] = [new Client({ port }), new Client({ port })];
    const pipeline = encodeRequest(['PUBLISH', 'news', 'text']).repeat(2) + encodeRequest(['PING']);
    const replies = ':0\r\n:0\r\n+PONG\r\n';
    // Code that has not run before is slow.
    for (let round = 0; round < 500; round++) await client.write(pipeline).expect(replies);
    await slow.command('PING').expect('+PONG\r\n');
    const chunks: number[] = [];
    for (let round = 0; round < 4; round++) {
      const before = client.chunks;
      slow.command('EVAL', 'for i = 1, 5e6 do end', '0');
      await client.write(pipeline).expect(replies);
      chunks.push(client.chunks - before);
    }
    // The system may suspend the server in a round.
    expect(Math.min(...chunks)).toBe(1);
  });

  it('notices the end of a client that is blocked after its time slice', async () => {
    const { port } = await serve();
    const client = new Client({ port });
    const slow = encodeRequest(['EVAL', 'for i = 1, 1e6 do end', '0']);
    client.socket.end(slow.repeat(20) + encodeRequest(['BLPOP', 'queue', '0']), 'latin1');
    await client.closed();
    const other = new Client({ port });
    await other.command('RPUSH', 'queue', 'element').expect(':1\r\n');
    await other.command('LLEN', 'queue').expect(':1\r\n');
  });

  it('sends a message to its subscribers', async () => {
    const { port } = await serve();
    const subscriber = new Client({ port }).command('SUBSCRIBE', 'news');
    await subscriber.expect('*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n');
    await new Client({ port }).command('PUBLISH', 'news', 'hi').expect(':1\r\n');
    await subscriber.expect('*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$2\r\nhi\r\n');
  });

  it('reports redis.log lines from LOG_NOTICE on', async () => {
    const { port, reports } = await serve();
    const script = "redis.log(redis.LOG_DEBUG, 'small') redis.log(redis.LOG_NOTICE, 'large')";
    await new Client({ port }).command('EVAL', script, '0').expect('$-1\r\n');
    expect(reports).toEqual(['large']);
  });

  it('replies OK to QUIT and closes', async () => {
    const { port } = await serve();
    const client = new Client({ port }).command('QUIT').command('PING');
    await client.closed();
    expect(client.text).toBe('+OK\r\n');
  });

  it.each([
    ['QUIT', '+OK\r\n'],
    ['CLIENT KILL TYPE normal SKIPME no', ':1\r\n'],
  ])('closes after a command that was delayed by a pause: %s', async (line, reply) => {
    const { port } = await serve();
    const client = new Client({ port }).write(`CLIENT PAUSE 10 ALL\r\n${line}\r\nPING\r\n`);
    await client.closed();
    expect(client.text).toBe(`+OK\r\n${reply}`);
  });

  it('closes a client that was killed, after its reply', async () => {
    const { port } = await serve();
    const client = new Client({ port });
    await client.command('CLIENT', 'KILL', 'SKIPME', 'no', 'TYPE', 'normal').closed();
    expect(client.text).toBe(':1\r\n');
  });
});

describe('bad input', () => {
  const CASES = [
    ['*2\r\nhello\r\n', "-ERR Protocol error: expected '$', got 'h'\r\n"],
    ['*1\r\n$-1\r\n', '-ERR Protocol error: invalid bulk length\r\n'],
    ['*1\r\n$99999999999\r\n', '-ERR Protocol error: invalid bulk length\r\n'],
    ['*x\r\n', '-ERR Protocol error: invalid multibulk length\r\n'],
    ['GET "a\r\n', '-ERR Protocol error: unbalanced quotes in request\r\n'],
  ] as const;

  it.each(CASES)('answers %j with an error and closes', async (input, answer) => {
    const { port } = await serve();
    const client = new Client({ port }).command('PING').write(input);
    await client.closed();
    expect(client.text).toBe(`+PONG\r\n${answer}`);
  });

  it('continues to serve other clients', async () => {
    const { port } = await serve();
    const good = new Client({ port });
    await good.command('PING').expect('+PONG\r\n');
    await new Client({ port }).write('*1\r\n!\r\n').closed();
    await good.command('PING').expect('+PONG\r\n');
  });

  it.each([
    'POST / HTTP/1.1\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\n\r\n',
    'OPTIONS * HTTP/1.0\r\n',
    'host: a\r\n',
  ])('closes an HTTP request without a reply: %j', async (request) => {
    const { port, reports } = await serve();
    const client = new Client({ port }).write(request);
    await client.closed();
    expect(client.text).toBe('');
    expect(reports.join()).toContain('HTTP');
  });

  it('does not treat a failed command with an HTTP word as an argument as HTTP', async () => {
    const { port } = await serve();
    const client = new Client({ port }).command('SET', 'k', 'v').command('SADD', 'k', 'HTTP/1.1');
    client.command('PING');
    await client.until(() => client.text.endsWith('PONG\r\n') || client.isClosed);
    expect(client.text).toMatch(/^\+OK\r\n-WRONGTYPE .*\r\n\+PONG\r\n$/);
  });

  it('allocates nothing for a length whose bytes have not arrived', async () => {
    const { port } = await serve();
    const before = process.memoryUsage();
    const clients = Array.from({ length: 100 }, () => new Client({ port }));
    for (const client of clients) client.write('*1000000\r\n$500000000\r\nx');
    await new Client({ port }).command('PING').expect('+PONG\r\n');
    const after = process.memoryUsage();
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(64 * 2 ** 20);
    expect(after.rss - before.rss).toBeLessThan(200 * 2 ** 20);
  });

  it('closes a client that does not read when it reaches its output limit', async () => {
    const { port, reports } = await serve({ 'output-limit-normal': '1048576' });
    const slow = new Client({ port });
    slow.command('SET', 'big', 'x'.repeat(100_000));
    await slow.expect('+OK\r\n');
    slow.socket.pause();
    slow.write(encodeRequest(['GET', 'big']).repeat(500));
    const other = new Client({ port });
    while (reports.length === 0) await other.command('PING').expect('+PONG\r\n');
    expect(reports.join()).toContain('output limit of 1048576 bytes');
  });

  it('closes the client with the most unread output at the limit of all clients', async () => {
    const { port, reports } = await serve({ 'maxmemory-clients': '64mb' });
    const slow = Array.from({ length: 7 }, () => new Client({ port }));
    const other = new Client({ port });
    await other.command('SET', 'big', 'x'.repeat(1_000_000)).expect('+OK\r\n');
    const leaveUnread = (client: Client, count: number): void => {
      client.socket.pause();
      client.write(encodeRequest(['GET', 'big']).repeat(count));
    };
    for (const client of slow) leaveUnread(client, 10);
    const greedy = new Client({ port });
    leaveUnread(greedy, 40);
    while (reports.length === 0) await other.command('PING').expect('+PONG\r\n');
    expect(reports).toEqual([
      expect.stringContaining(`closed 127.0.0.1:${greedy.socket.localPort}: `),
    ]);
    await other.command('PING').expect('+PONG\r\n');
  });

  it('closes a killed client that does not read its replies, also if it continues to send', async () => {
    const { port, engine } = await serve();
    const other = new Client({ port });
    await other.command('SET', 'big', 'x'.repeat(12_000_000)).expect('+OK\r\n');
    const greedy = new Client({ port }).command('GET', 'big');
    greedy.socket.pause();
    const { clients } = engine.memory;
    while (clients.bytes < 12_000_000) await other.command('PING').expect('+PONG\r\n');
    await other.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes').expect(':1\r\n');
    const sending = setInterval(() => greedy.write('x'), 100);
    cleanups.push(() => clearInterval(sending));
    await greedy.closed();
    expect(clients.bytes).toBeLessThan(12_000_000);
  });

  it('sends all replies to a closing client that reads them, also if it continues to send', async () => {
    const { port } = await serve();
    const value = 'x'.repeat(40_000_000);
    await new Client({ port }).command('SET', 'big', value).expect('+OK\r\n');
    const client = new Client({ port }).command('GET', 'big').command('QUIT');
    let bytes = 0;
    client.socket.removeAllListeners('data').on('data', (chunk) => {
      bytes += chunk.length;
      client.socket.pause();
      setTimeout(() => client.socket.resume(), 5);
    });
    const sending = setInterval(() => client.write('x'), 100);
    cleanups.push(() => clearInterval(sending));
    await client.closed();
    // The system drops what it has not sent when bytes of the client are left unread.
    expect(bytes).toBeGreaterThan(value.length - 8_000_000);
  });

  it('counts the unread replies of closing clients, and ends those with the most', async () => {
    const { port, engine, reports } = await serve({ 'maxmemory-clients': '32mb' });
    const other = new Client({ port });
    await other.command('SET', 'big', 'x'.repeat(12_000_000)).expect('+OK\r\n');
    for (let id = 2; id <= 5; id++) {
      const greedy = new Client({ port });
      greedy.socket.pause();
      greedy.command('MULTI').command('GET', 'big');
      greedy.command('CLIENT', 'KILL', 'ID', String(id), 'SKIPME', 'no').command('EXEC');
      await other.command('PING').expect('+PONG\r\n');
      while (engine.sessions.size > 1 || engine.stats.sessions < id) {
        await other.command('PING').expect('+PONG\r\n');
      }
    }
    await other.command('PING').expect('+PONG\r\n');
    expect(engine.memory.clients.bytes).toBeGreaterThan(12_000_000);
    expect(engine.memory.clients.bytes).toBeLessThan(32 * 2 ** 20);
    expect(reports.length).toBe(2);
  });

  it('evicts the client with the most unread output for a new client', async () => {
    const { port, engine, reports } = await serve({ 'maxmemory-clients': '32mb' });
    const other = new Client({ port });
    await other.command('SET', 'big', 'x'.repeat(12_000_000)).expect('+OK\r\n');
    const greedy = new Client({ port }).command('GET', 'big');
    greedy.socket.pause();
    const { clients } = engine.memory;
    while (clients.bytes < 12_000_000) await other.command('PING').expect('+PONG\r\n');
    clients.limitBytes = clients.bytes + 1;
    await new Client({ port }).command('PING').expect('+PONG\r\n');
    expect(reports).toEqual([
      expect.stringContaining(`closed 127.0.0.1:${greedy.socket.localPort}: `),
    ]);
  });

  it('closes only the client whose reply exceeds its output limit', async () => {
    const { port, reports } = await serve({ 'output-limit-normal': '1048576' });
    const other = new Client({ port });
    await other.command('SET', 'big', 'x'.repeat(100_000)).expect('+OK\r\n');
    const greedy = new Client({ port }).command('MGET', ...Array<string>(10_000).fill('big'));
    await greedy.closed();
    expect(greedy.text).toBe('');
    expect(reports.join()).toContain('a reply exceeds its output limit of 1048576 bytes');
    await other.command('PING').expect('+PONG\r\n');
  });

  it('runs all commands of a transaction whose replies are too large, and closes its client', async () => {
    const { port } = await serve({ 'maxmemory-clients': '2mb' });
    const other = new Client({ port });
    await other.command('SET', 'big', 'x'.repeat(100_000)).expect('+OK\r\n');
    const greedy = new Client({ port }).command('MULTI');
    for (let count = 0; count < 100; count++) greedy.command('GET', 'big');
    await greedy.command('INCR', 'done').command('EXEC').closed();
    await other.command('GET', 'done').expect('$1\r\n1\r\n');
  });

  it('skips the reads of a transaction once its replies are too large', async () => {
    const { port } = await serve({ 'maxmemory-clients': '2mb' });
    const other = new Client({ port });
    await other.command('SET', 'big', 'x'.repeat(100_000)).expect('+OK\r\n');
    const greedy = new Client({ port }).command('MULTI');
    for (let count = 0; count < 100; count++) greedy.command('GET', 'big');
    await greedy.command('STRLEN', 'big').command('INCR', 'done').command('EXEC').closed();
    other.command('INFO', 'commandstats');
    await other.until(() => other.text.includes('cmdstat_incr:calls=1'));
    expect(other.text).not.toContain('cmdstat_strlen');
    expect(Number(/cmdstat_get:calls=(\d+)/.exec(other.text)?.[1])).toBeLessThan(20);
  });

  it('sends no byte to another client when the reply of a blocked command is too large', async () => {
    const { port } = await serve({ 'output-limit-normal': '1048576' });
    const blocked = new Client({ port }).command('BLMPOP', '0', '1', 'l', 'LEFT', 'COUNT', '100');
    const subscriber = new Client({ port }).command('SUBSCRIBE', 'c');
    await subscriber.expect('*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n');
    const other = new Client({ port });
    const element = 'x'.repeat(100_000);
    await other.command('RPUSH', 'l', ...Array<string>(100).fill(element)).expect(':100\r\n');
    await other.command('PUBLISH', 'c', 'm').expect(':1\r\n');
    await subscriber.expect('*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\nm\r\n');
    await blocked.closed();
    expect(blocked.text).toBe('');
  });

  it('counts a message to many subscribers once', async () => {
    const { port, reports } = await serve({ 'maxmemory-clients': '16mb' });
    const subscribers = Array.from({ length: 20 }, () => new Client({ port }));
    for (const each of subscribers)
      await each.command('SUBSCRIBE', 'c').until(() => each.text !== '');
    for (const each of subscribers) each.socket.pause();
    const publisher = new Client({ port });
    await publisher.command('PUBLISH', 'c', 'x'.repeat(6_000_000)).expect(':20\r\n');
    expect(reports).toEqual([]);
    await publisher
      .command('CLIENT', 'LIST', 'TYPE', 'pubsub')
      .until(() => publisher.text.endsWith('\n\r\n'));
    expect(publisher.text.match(/omem=[1-9]\d{6}/g)?.length).toBe(20);
  });

  it('runs other clients between the scripts of one pipeline', async () => {
    const { port } = await serve({ 'script-budget-ms': '50' });
    const busy = new Client({ port });
    busy.write(encodeRequest(['EVAL', 'while true do end', '0']).repeat(20));
    await busy.until(() => busy.text !== '');
    const other = new Client({ port });
    await other.command('PING').expect('+PONG\r\n');
    expect(busy.text.match(/Script stopped/g)!.length).toBeLessThan(10);
    await busy.until(() => busy.text.match(/Script stopped/g)!.length === 20);
  });

  it('runs other clients between the scripts of many clients', async () => {
    const { port } = await serve({ 'script-budget-ms': '100' });
    const other = new Client({ port });
    await other.command('PING').expect('+PONG\r\n');
    const busy = Array.from({ length: 10 }, () => new Client({ port }));
    for (const client of busy) await client.command('PING').expect('+PONG\r\n');
    for (const client of busy) client.command('EVAL', 'while true do end', '0');
    await busy[0]!.until(() => busy[0]!.text !== '');
    await other.command('PING').expect('+PONG\r\n');
    expect(busy.filter(({ text }) => text !== '').length).toBeLessThan(4);
    for (const client of busy) await client.until(() => client.text.includes('Script stopped'));
  });

  it('replies to a pipeline of several time slices in order, also after the client has closed its sending side', async () => {
    const { port } = await serve({ 'script-budget-ms': '20' });
    const client = new Client({ port });
    const pair = encodeRequest(['EVAL', 'while true do end', '0']) + encodeRequest(['INCR', 'n']);
    client.socket.end(pair.repeat(5), 'latin1');
    await client.closed();
    expect(client.text.match(/^:\d+/gm)).toEqual([':1', ':2', ':3', ':4', ':5']);
  });

  it('closes a subscriber that does not read when it reaches output-limit-pubsub', async () => {
    const { port, reports } = await serve({ 'output-limit-pubsub': '1048576' });
    const slow = new Client({ port }).command('SUBSCRIBE', 'news');
    await slow.expect('*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n');
    slow.socket.pause();
    const publisher = new Client({ port });
    const payload = 'x'.repeat(100_000);
    while (reports.length === 0) {
      publisher.command('PUBLISH', 'news', payload);
      await publisher.until(() => publisher.text !== '');
      publisher.text = '';
    }
    await publisher.command('PUBLISH', 'news', payload).expect(':0\r\n');
  });
});

describe('sign-in', () => {
  it('rejects large requests before sign-in', async () => {
    const { port } = await serve({ requirepass: 'secret' });
    const client = new Client({ port });
    await client.command('GET', 'x').expect('-NOAUTH Authentication required.\r\n');
    await client.command('AUTH', 'secret').expect('+OK\r\n');
    await client.command('SET', 'x', 'y'.repeat(20_000)).expect('+OK\r\n');
    const many = new Client({ port }).write('*11\r\n');
    await many.closed();
    expect(many.text).toBe('-ERR Protocol error: unauthenticated multibulk length\r\n');
    const long = new Client({ port }).write('*2\r\n$4\r\nAUTH\r\n$16385\r\n');
    await long.closed();
    expect(long.text).toBe('-ERR Protocol error: unauthenticated bulk length\r\n');
  });
});

describe('a named session', () => {
  const ENDS: Record<string, (session: Client, other: Client) => unknown> = {
    'a client that says goodbye': (session) => session.command('QUIT'),
    'a client that closes its side': (session) => session.socket.end(),
    'a client that vanishes': (session) => session.socket.resetAndDestroy(),
    'a client that breaks the protocol': (session) => session.write('*1\r\n!\r\n'),
    'CLIENT KILL': (session, other) =>
      other.command('CLIENT', 'KILL', 'ADDR', `127.0.0.1:${session.socket.localPort}`),
    RESET: (session) => session.command('RESET'),
  };

  it.each(Object.entries(ENDS))('ends by %s, and its exit commands run', async (_end, end) => {
    const { port } = await serve();
    const session = new Client({ port }).command('HOLDFAST.SESSION', 'a');
    await session.expect('+OK\r\n');
    const other = new Client({ port });
    await other.command('HOLDFAST.WILL', 'SET', 'a', 'w', 'RPUSH', 'x', 'will').expect('+OK\r\n');
    const blocked = new Client({ port }).command('BLPOP', 'x', '0');
    await other.command('PING').expect('+PONG\r\n');
    end(session, other);
    await blocked.expect('*2\r\n$1\r\nx\r\n$4\r\nwill\r\n');
  });

  it('ends with the server, before the engine closes', async () => {
    const engine = createEngine();
    const server = await startServer({ engine, port: 0 });
    const session = new Client(server).command('HOLDFAST.SESSION', 'a');
    session.command('HOLDFAST.WILL', 'SET', 'a', 'w', 'SET', 'x', 'will');
    await session.expect('+OK\r\n+OK\r\n');
    await server.close();
    expect(engine.database(0).has('x')).toBe(true);
    engine.close();
  });
});

describe('limits and addresses', () => {
  it('rejects a client beyond maxclients', async () => {
    const { port } = await serve({ maxclients: '2' });
    const first = new Client({ port });
    await first.command('PING').expect('+PONG\r\n');
    const second = new Client({ port });
    await second.command('PING').expect('+PONG\r\n');
    const third = new Client({ port });
    await third.closed();
    expect(third.text).toBe('-ERR max number of clients reached\r\n');
    second.socket.destroy();
    await second.closed();
  });

  it('closes an idle client, but not one with a blocked command or a subscription', async () => {
    const { port } = await serve({ timeout: '1' });
    const waiter = new Client({ port }).command('BLPOP', 'list', '0');
    const subscriber = new Client({ port }).command('SUBSCRIBE', 'news');
    const monitor = new Client({ port }).command('MONITOR');
    const session = new Client({ port }).command('HOLDFAST.SESSION', 'a');
    const idle = new Client({ port }).command('PING');
    await idle.closed();
    expect(idle.text).toBe('+PONG\r\n');
    const others = [waiter, subscriber, monitor, session];
    expect(others.some(({ isClosed }) => isClosed)).toBe(false);
    await new Client({ port }).command('RPUSH', 'list', 'x').expect(':1\r\n');
    await waiter.expect('*2\r\n$4\r\nlist\r\n$1\r\nx\r\n');
    // It is no longer blocked, so that its idle time begins.
    await waiter.closed();
  });

  it('forgets a client whose connection meets an exception while it is accepted', async () => {
    const report = (message: string): void => {
      if (message.startsWith('accepted')) throw new Error('the report fails');
    };
    const server = await serve({ loglevel: 'verbose' }, { report });
    for (let count = 0; count < 3; count++) await new Client(server).closed();
    expect(server.connectionCount).toBe(0);
  });

  it('takes no client that has reset its TCP connection for one of the Unix socket', async () => {
    const reports: string[] = [];
    const report = (message: string): unknown => reports.push(message);
    const { port } = await serve({ loglevel: 'verbose' }, { report });
    // This process accepts the connection after the other one has ended.
    const program = `const socket = require('net').connect(${port}, '127.0.0.1', () => socket.resetAndDestroy())`;
    spawnSync(process.execPath, ['-e', program]);
    await new Client({ port }).command('PING').expect('+PONG\r\n');
    expect(reports.filter((message) => message.includes('Unix socket'))).toEqual([]);
  });

  it('accepts arguments up to proto-max-bulk-len', async () => {
    const { port } = await serve({ 'proto-max-bulk-len': '1048576' });
    const client = new Client({ port }).write('*2\r\n$4\r\nECHO\r\n$1048577\r\n');
    await client.closed();
    expect(client.text).toBe('-ERR Protocol error: invalid bulk length\r\n');
  });

  it('rejects a host beyond loopback without a password', async () => {
    await expect(serve({}, { host: '0.0.0.0' })).rejects.toThrow(/without a password/);
    const { addresses } = await serve({ requirepass: 'x' }, { host: '0.0.0.0' });
    expect(addresses[0]).toMatch(/^0\.0\.0\.0:\d+$/);
  });

  it('rejects a port in use with an error that says what to do', async () => {
    const { port } = await serve();
    await expect(serve({}, { port })).rejects.toThrow(/Another process listens there.*--port/);
  });
});

describe('Unix socket', () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'holdfast-'));
    cleanups.push(() => rmSync(path, { recursive: true }));
    return path;
  }

  it('creates a private folder for the socket', async () => {
    const path = join(folder(), 'new', 'socket');
    const { addresses } = await serve({}, { unix: path, port: undefined } as never);
    expect(addresses).toEqual([path]);
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await new Client({ path }).command('PING').expect('+PONG\r\n');
  });

  it.each(['/proc/no/such/socket', '/dev/null/no/socket'])('rejects the path %s', async (path) => {
    await expect(serve({}, { unix: path })).rejects.toThrow(/cannot listen on .*--unix/);
  });

  it('rejects a folder with mode 0755', async () => {
    const open = join(folder(), 'open');
    mkdirSync(open);
    await expect(serve({}, { unix: join(open, 'socket') })).rejects.toThrow(/0700/);
  });

  it('accepts a symbolic link of the same user to the folder', async () => {
    const parent = folder();
    mkdirSync(join(parent, 'own'), { mode: 0o700 });
    symlinkSync('own', join(parent, 'link'));
    const { addresses } = await serve({}, { unix: join(parent, 'link', 'socket') });
    expect(addresses).toContain(join(parent, 'link', 'socket'));
  });

  it.for(['folder', 'folder behind a link', 'link to a folder'])(
    'rejects a %s of another user',
    async (kind, { skip }) => {
      if (process.geteuid?.() !== 0) skip('needs root');
      const parent = folder();
      const [own, link] = [join(parent, 'own'), join(parent, 'link')];
      mkdirSync(own, { mode: 0o700 });
      symlinkSync('own', link);
      if (kind === 'link to a folder') lchownSync(link, 65534, 65534);
      else chownSync(own, 65534, 65534);
      const unix = join(kind === 'folder' ? own : link, 'socket');
      await expect(serve({}, { unix })).rejects.toMatchObject({
        code: 'open-folder',
        message: expect.stringMatching(
          /belongs to another user \(uid 65534\)\. Use a folder of your own/,
        ),
      });
    },
  );

  it('replaces the socket of a dead server, but no other file', async () => {
    const path = join(folder(), 'socket');
    const first = await serve({}, { unix: path });
    await expect(serve({}, { unix: path })).rejects.toThrow(/Another process listens there/);
    await first.close();
    await serve({}, { unix: path });
    const file = join(folder(), 'notes');
    writeFileSync(file, 'mine');
    await expect(serve({}, { unix: file })).rejects.toThrow(/not a socket/);
  });
});

describe('close', () => {
  it.each(['is silent', 'keeps sending'])(
    'ends a client that does not read and %s',
    async (manner) => {
      const server = await serve();
      const slow = new Client(server);
      await slow.command('SETRANGE', 'big', '1000000', 'x').expect(':1000001\r\n');
      slow.socket.pause();
      slow.write(encodeRequest(['GET', 'big']).repeat(30));
      const other = new Client(server);
      while (!/omem=[1-9]/.test(other.text)) {
        other.text = '';
        other.command('CLIENT', 'LIST');
        await other.until(() => other.text !== '');
      }
      const sending = setInterval(() => slow.write(manner === 'is silent' ? '' : 'PING\r\n'), 100);
      cleanups.push(() => clearInterval(sending));
      await server.close();
      expect(server.connectionCount).toBe(0);
    },
  );

  it('sends pending replies, closes connections, and may be called twice', async () => {
    const server = await serve();
    const client = new Client(server);
    await client.command('PING').expect('+PONG\r\n');
    await Promise.all([server.close(), server.close()]);
    await client.closed();
    expect(server.connectionCount).toBe(0);
  });
});
