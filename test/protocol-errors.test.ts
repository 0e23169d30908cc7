import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '../src/clock/index.ts';
import {
  DEFAULT_REQUEST_LIMITS,
  ErrorReply,
  encode,
  encodeRequest,
  ProtocolError,
  type Reply,
  ReplyDecoder,
  RequestDecoder,
} from '../src/resp/index.ts';
import { below, mutate } from './frame-mutation.ts';
import { spawnRealRedis, stopProcess } from './real-redis.ts';
import { withinMs } from './within.ts';

/** Sends byte streams to Redis and to our decoder. The results must be equal. */

const PASSWORD = 'secret';
const directory = mkdtempSync(join(tmpdir(), 'holdfast-protocol-'));
const socketPath = join(directory, 'redis.sock');
let redis: ChildProcess;

beforeAll(async () => {
  redis = await spawnRealRedis(
    '--port',
    '0',
    '--unixsocket',
    socketPath,
    '--requirepass',
    PASSWORD,
  );
});

afterAll(async () => {
  await stopProcess(redis);
  rmSync(directory, { recursive: true });
});

const LONG = 65_536;

const ERRORS: readonly (readonly [reason: string, bytes: string])[] = [
  ['invalid multibulk length', '*x\r\n'],
  ['invalid multibulk length', '*\r\n'],
  ['invalid multibulk length', '*+1\r\n'],
  ['invalid multibulk length', '*01\r\n'],
  ['invalid multibulk length', '*-0\r\n'],
  ['invalid multibulk length', '*1 \r\n'],
  ['invalid multibulk length', '*2147483648\r\n'],
  ['invalid multibulk length', '*-9223372036854775809\r\n'],
  ['invalid multibulk length', '*1\n$4\r\nPING\r\n'],
  ['invalid bulk length', '*1\r\n$-1\r\n'],
  ['invalid bulk length', '*1\r\n$x\r\n'],
  ['invalid bulk length', '*1\r\n$04\r\nPING\r\n'],
  ['invalid bulk length', '*1\r\n$536870913\r\n'],
  ["expected '$', got ':'", '*1\r\n:4\r\n'],
  ["expected '$', got '\xe9'", '*1\r\n\xe9\r\n'],
  ["expected '$', got ' '", '*1\r\n\r\n'],
  ["expected '$', got ' '", '*1\r\n\n\r\n'],
  ['too big mbulk count string', `*${'1'.repeat(LONG)}`],
  ['too big mbulk count string', `*\0\r\n${'1'.repeat(LONG - 3)}`],
  ['too big bulk count string', `*1\r\n$${'1'.repeat(LONG)}`],
  ['too big inline request', 'a'.repeat(LONG + 1)],
  ['too big inline request', `\0\r\n${'a'.repeat(LONG - 2)}`],
  ['unbalanced quotes in request', 'ECHO "a\r\n'],
  ['unbalanced quotes in request', "ECHO 'a\r\n"],
  ['unbalanced quotes in request', 'ECHO "a"b\r\n'],
  ['unbalanced quotes in request', 'ECHO "a\\\r\n'],
];

const ERRORS_BEFORE_SIGN_IN: typeof ERRORS = [
  ['unauthenticated multibulk length', '*11\r\n'],
  ['unauthenticated bulk length', '*1\r\n$16385\r\n'],
  ['invalid multibulk length', '*2147483648\r\n'],
  ['invalid bulk length', '*1\r\n$536870913\r\n'],
];

describe('protocol errors have the texts of Redis', () => {
  for (const [reason, bytes] of ERRORS) {
    it(`${reason}: ${JSON.stringify(bytes.slice(0, 30))}`, async () => {
      const line = `-ERR Protocol error: ${reason}\r\n`;
      expect(await askRedis(bytes)).toBe(line);
      expect(encodeAll(predict(bytes))).toBe(line);
    });
  }

  for (const [reason, bytes] of ERRORS_BEFORE_SIGN_IN) {
    it(`before sign-in, ${reason}: ${JSON.stringify(bytes)}`, async () => {
      const line = `-ERR Protocol error: ${reason}\r\n`;
      expect(await exchange(bytes)).toBe(line);
      expect(encodeAll(predict(bytes, false))).toBe(line);
    });
  }
});

describe('requests that Redis accepts', () => {
  it.each([
    'ECHO a',
    'ECHO "a b"',
    "ECHO 'a b'",
    'ECHO "\\x41\\xfF\\n\\r\\t\\b\\a\\\\\\"\\q"',
    'ECHO "\\x4" ',
    'ECHO "\\xg1" ',
    "ECHO '\\'\\n\"'",
    'ECHO ab"c d"',
    'ECHO ab"c d"\v',
    'ECHO a\vb\f',
    '\v\fECHO \va',
    'ECHO ""',
    'ECHO \xff\x80\x01',
    '  \r\n\n\r\nECHO a',
    '*0\r\n*-1\r\n*-9223372036854775808\r\nECHO a',
    '*2\r.$4\r.ECHO..$1\r.a..ECHO b',
    'ECHO a\r\r',
    'ECHO a\rb',
    'ECHO a\0b',
  ])('%j', async (line) => {
    const bytes = `${line}\r\nECHO end\n`;
    const answer = await askRedis(bytes);
    expect(encodeAll(predict(bytes))).toBe(withoutReasons(answer));
  });

  it(
    'and refuses, in 3,000 broken streams',
    async () => {
      const random = seededRandom(7);
      const seen = { requests: 0, errors: 0 };
      for (let round = 0; round < 3000; round++) {
        const bytes = mutate(echoes(random), echoes(random), random).toString('latin1');
        const predicted = predict(bytes);
        expect(withoutReasons(await askRedis(bytes)), JSON.stringify(bytes)).toBe(
          encodeAll(predicted),
        );
        seen.requests += predicted.filter((reply) => typeof reply === 'string').length;
        seen.errors += predicted.filter(isProtocolError).length;
      }
      expect(seen.requests).toBeGreaterThan(2000);
      expect(seen.errors).toBeGreaterThan(500);
    },
    withinMs(60_000),
  );
});

/** The replies of Redis on a new connection, up to its end. Redis closes it after an error. */
function exchange(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(socketPath);
    socket.setEncoding('latin1');
    socket.on('data', (text) => {
      answer += text;
    });
    socket.on('close', () => resolve(answer));
    // If our last bytes arrive after Redis has closed the connection, it is reset.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.end(bytes, 'latin1');
  });
}

async function askRedis(bytes: string): Promise<string> {
  const answer = await exchange(encodeRequest(['AUTH', PASSWORD]) + bytes);
  expect(answer.startsWith('+OK\r\n')).toBe(true);
  return answer.slice('+OK\r\n'.length);
}

/** The expected replies of Redis for the requests that our decoder reads: the argument of ECHO, or an error. */
function predict(bytes: string, signedIn = true): Reply[] {
  const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS, signedIn });
  decoder.push(Buffer.from(bytes, 'latin1'));
  const replies: Reply[] = [];
  try {
    for (let argv = decoder.next(); argv !== null; argv = decoder.next())
      replies.push(answer(argv));
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    replies.push(new ErrorReply(`ERR ${error.message}`));
  }
  return replies;
}

function answer(argv: readonly string[]): Reply {
  const isEcho = /^echo$/i.test(argv[0]!);
  return isEcho && argv.length === 2 ? argv[1]! : REFUSED;
}

const REFUSED = new ErrorReply('ERR refused');

/** Removes the texts of errors, except for protocol errors, which the decoder causes. */
function withoutReasons(answers: string): string {
  const decoder = new ReplyDecoder();
  decoder.push(Buffer.from(answers, 'latin1'));
  const replies: Reply[] = [];
  for (let reply = decoder.next(); reply !== undefined; reply = decoder.next()) {
    replies.push(reply instanceof ErrorReply && !isProtocolError(reply) ? REFUSED : reply);
  }
  return encodeAll(replies);
}

function isProtocolError(reply: Reply): boolean {
  return reply instanceof ErrorReply && reply.message.startsWith('ERR Protocol error: ');
}

function encodeAll(replies: readonly Reply[]): string {
  return replies.map((reply) => encode(reply, 2)).join('');
}

function echoes(random: ReturnType<typeof seededRandom>): Buffer {
  const texts = Array.from({ length: 1 + below(random, 3) }, () => {
    const text = Buffer.from(random.bytes(below(random, 20))).toString('latin1');
    const inline = `ECHO "${text.replace(/[^0-9a-z ]/g, '\\x4A')}"\r\n`;
    return random.next() < 0.3 ? inline : encodeRequest(['ECHO', text]);
  });
  return Buffer.from(texts.join(''), 'latin1');
}
