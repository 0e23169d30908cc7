import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Random, seededRandom } from '../src/clock/index.ts';
import { encode, encodeRequest } from '../src/resp/index.ts';
import { RawClient } from './differential/raw-client.ts';
import { newSeed } from './new-seed.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

/**
 * Pipelines of random shape, in chunks of random length, which our server decodes ahead. The replies must be the same bytes
 * as those of Redis 7.0, and with blocking commands the same as to one request at a time.
 *
 * HOLDFAST_PIPELINES sets their number, HOLDFAST_SEED repeats a run.
 */
const { HOLDFAST_PIPELINES = '60', HOLDFAST_SEED = newSeed() } = process.env;
const PIPELINES = Number(HOLDFAST_PIPELINES);
const PASSWORD = 'secret';

let redis: RunningServer;
let holdfast: RunningServer;

beforeAll(async () => {
  redis = await startRealRedis('--requirepass', PASSWORD);
  holdfast = await startHoldfast({ settings: { requirepass: PASSWORD } });
});

afterAll(async () => {
  await holdfast.stop();
  await redis.stop();
});

it(`replies to ${PIPELINES} random pipelines as Redis does`, {
  timeout: withinMs(60_000 + PIPELINES * 100),
}, async () => {
  await compareRandom(COMMANDS, (_, chunks) => repliesOf(redis.port, chunks));
});

it(`replies to ${PIPELINES} random pipelines with subscriptions as Redis does`, {
  timeout: withinMs(60_000 + PIPELINES * 100),
}, async () => {
  // Redis writes a message of a transaction to its own client among its replies: see docs/differences.md.
  const commands = [...COMMANDS.filter(([name]) => name !== 'MULTI'), ...PUSHING];
  await compareRandom(commands, (_, chunks) => repliesOf(redis.port, chunks));
});

it(`replies to ${PIPELINES} random pipelines with blocking commands as to one request at a time`, {
  timeout: withinMs(60_000 + PIPELINES * 100),
}, async () => {
  await compareRandom([...COMMANDS, ...BLOCKING], repliesOneByOne);
});

async function compareRandom(
  commands: readonly (readonly string[])[],
  expectedOf: (
    pipeline: readonly (readonly string[])[],
    chunks: readonly string[],
  ) => Promise<string>,
): Promise<void> {
  const random = seededRandom(Number(HOLDFAST_SEED));
  for (let run = 0; run < PIPELINES; run++) {
    const pipeline = pipelineFrom(commands, random);
    const chunks = chunksOf(pipeline, random);
    const expected = await expectedOf(pipeline, chunks);
    const label = `seed ${HOLDFAST_SEED}, pipeline ${run}: ${JSON.stringify(pipeline)}`;
    expect(await repliesOf(holdfast.port, chunks), label).toBe(expected);
  }
}

/** The replies of our server to requests that each wait for the reply before. */
async function repliesOneByOne(pipeline: readonly (readonly string[])[]): Promise<string> {
  const client = await RawClient.connect(holdfast.port);
  let text = '';
  for (const argv of pipeline) text += encode(await client.request(...argv), 2);
  client.destroy();
  return text;
}

const MANY_WORDS = ['DEL', ...'abcdefghijkl'];

it.each<[string, string]>([
  ['an invalid frame after valid ones', `${signIn()}${set('x', '1')}*1\r\n?3\r\n`],
  ['requests after QUIT', `${signIn()}${request('QUIT')}${set('x', '1')}`],
  ['many words after AUTH in one chunk', `${signIn()}${request(...MANY_WORDS)}${request('QUIT')}`],
  ['many words after RESET', `${signIn()}${request('RESET')}${request(...MANY_WORDS)}`],
  ['many words after reset', `${signIn()}${request('reset')}${request(...MANY_WORDS)}`],
  [
    'a request that is cut inside a batch',
    `${signIn()}${set('x', '1')}${set('x', '2').slice(0, -3)}`,
  ],
])('replies to %s as Redis does', async (_, text) => {
  const chunks = [text];
  const expected = await repliesOf(redis.port, chunks, true);
  expect(await repliesOf(holdfast.port, chunks, true)).toBe(expected);
});

function request(...argv: string[]): string {
  return encodeRequest(argv);
}

function set(key: string, value: string): string {
  return request('SET', key, value);
}

function signIn(): string {
  return request('AUTH', PASSWORD) + request('SELECT', '1');
}

/** The server reads keys ahead only in a database with some thousands of them. */
const FILL = "for i = 1, 5000 do redis.call('set', KEYS[1] .. i, i) end";

/** Commands whose replies do not depend on time. */
const COMMANDS: readonly (readonly string[])[] = [
  ['SETNX', 'KEY', 'VALUE'],
  ['SET', 'KEY', 'VALUE', 'NX', 'PX', '100000'],
  ['SET', 'KEY', 'VALUE', 'nx', 'px', '100000'],
  ['SET', 'KEY', 'VALUE', 'NX', 'PX', 'TIME'],
  ['SET', 'LIST', 'VALUE', 'NX', 'PX', 'TIME'],
  ['SET', 'KEY', 'VALUE', 'PX', '100000', 'NX'],
  ['GET', 'KEY'],
  ['DEL', 'KEY'],
  ['INCR', 'KEY'],
  ['RPUSH', 'LIST', 'VALUE'],
  ['LRANGE', 'LIST', '0', '-1'],
  ['EVAL', "return redis.call('get', KEYS[1])", '1', 'KEY'],
  ['SELECT', '1'],
  ['SELECT', '2'],
  ['MULTI'],
  ['EXEC'],
  ['DISCARD'],
  ['PING'],
  ['ECHO', 'VALUE'],
  ['AUTH', PASSWORD],
  ['RESET'],
  ['NO-SUCH-COMMAND', 'KEY'],
  ['GET'],
  ['FLUSHDB'],
  ['EVAL', FILL, '1', 'KEY'],
];

/** Replies that are pushes, and a mode in which most commands fail. */
const PUSHING = [
  ['SUBSCRIBE', 'LIST'],
  ['SUBSCRIBE', 'LIST', 'KEY'],
  ['UNSUBSCRIBE', 'LIST'],
  ['UNSUBSCRIBE', 'LIST', 'KEY'],
  ['PUBLISH', 'LIST', 'VALUE'],
  ['HELLO', '9'],
];

/** They block for a moment, in the middle of what was decoded. */
const BLOCKING = [
  ['BLPOP', 'LIST', '0.005'],
  ['CLIENT', 'PAUSE', '2', 'ALL'],
];

function pipelineFrom(commands: readonly (readonly string[])[], random: Random): string[][] {
  const length = 1 + Math.floor(random.next() * 150);
  const requests = Array.from({ length }, () =>
    pick(commands, random).map((word) => filled(word, random)),
  );
  const begin = random.next() < 0.8 ? [['AUTH', PASSWORD]] : [];
  // The last replies tell the state of the session and the key space, whatever came before.
  const end = [['AUTH', PASSWORD], ['DISCARD'], ['GET', 'key:1']];
  // In subscriber mode Redis refuses FLUSHALL, and the next pipeline would find the keys.
  return [...begin, ...requests, ...end, ['RESET'], ['AUTH', PASSWORD], ['FLUSHALL'], ['QUIT']];
}

function filled(word: string, random: Random): string {
  if (word === 'KEY') return `key:${Math.floor(random.next() * 5)}`;
  if (word === 'LIST') return `list:${Math.floor(random.next() * 2)}`;
  if (word === 'TIME') return pick(TIMES, random);
  if (word === 'VALUE') return 'v'.repeat(Math.floor(random.next() ** 3 * 40));
  return word;
}

/** Times of SET, of which few are valid. */
const TIMES = [
  '100000',
  '0',
  '-1',
  '1.5',
  ' 1',
  '+1',
  '',
  'x',
  '9223372036854775807',
  '9'.repeat(30),
];

/** Some requests are sent inline. */
function encoded(argv: readonly string[], random: Random): string {
  const isPlain = argv.every((word) => /^[\w:.-]+$/.test(word));
  return isPlain && random.next() < 0.1 ? `${argv.join(' ')}\r\n` : encodeRequest(argv);
}

function chunksOf(pipeline: readonly (readonly string[])[], random: Random): string[] {
  let rest = pipeline.map((argv) => encoded(argv, random)).join('');
  const chunks: string[] = [];
  while (rest.length > 0) {
    const length = 1 + Math.floor(random.next() ** 2 * 4000);
    chunks.push(rest.slice(0, length));
    rest = rest.slice(length);
  }
  return chunks;
}

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[Math.floor(random.next() * items.length)]!;
}

/** Sends the chunks in turns of their own, and returns everything that arrives until the server closes. */
function repliesOf(port: number, chunks: readonly string[], endsInput = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(received));
    socket.on('error', (error) =>
      'code' in error && error.code === 'EPIPE' ? null : reject(error),
    );
    const sendFrom = (at: number): void => {
      if (at === chunks.length) {
        if (endsInput) socket.end();
        return;
      }
      socket.write(chunks[at]!, 'latin1', () => setImmediate(sendFrom, at + 1));
    };
    sendFrom(0);
  });
}
