import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { type Random, seededRandom } from '../src/clock/index.ts';
import {
  DEFAULT_REQUEST_LIMITS,
  encodeRequest,
  ProtocolError,
  ReplyDecoder,
  RequestDecoder,
  type RequestLimits,
} from '../src/resp/index.ts';
import { below, mutate } from './frame-mutation.ts';

/**
 * Decodes streams of frames, most of them invalid, as a whole and in chunks. Both must give the same frames and the same
 * error. Only a ProtocolError may be thrown. The decoder may buffer no more bytes than were pushed, and 32 bytes per
 * argument. The heap must not grow.
 *
 * HOLDFAST_FUZZ_FRAMES sets the number of frames that are decoded, rejected or incomplete. Frames after an error do not
 * count.
 */
const { HOLDFAST_FUZZ_FRAMES = '500000' } = process.env;
const FRAMES = Number(HOLDFAST_FUZZ_FRAMES);
const TIMEOUT_MS = 60_000 + FRAMES / 10;
/** The shortest argument has six bytes: `$0` and two line breaks. */
const MAX_KEPT_PER_BYTE = 1 + 32 / 6;
const MAX_HEAP_GROWTH_BYTES = 4 * 1024 * 1024;

it('decodes or rejects any request, for any split into chunks', { timeout: TIMEOUT_MS }, () => {
  const limits = LIMITS.map((changes) => ({ ...DEFAULT_REQUEST_LIMITS, ...changes }));
  const tally = fuzz(FRAMES, requestStream, (bytes, nextLength, round) =>
    runRequests(bytes, nextLength, limits[round % limits.length]!),
  );
  expect(tally.decoded).toBeGreaterThan(FRAMES / 4);
  expect([...tally.errors.keys()].sort()).toEqual([...EXPECTED_ERRORS].sort());
});

it('decodes or rejects any reply, for any split into chunks', { timeout: TIMEOUT_MS }, () => {
  const tally = fuzz(FRAMES / 10, replyStream, runReplies);
  expect(tally.decoded).toBeGreaterThan(FRAMES / 40);
  expect(tally.errors.size).toBeGreaterThan(5);
});

/** Small limits, so that small frames reach them. */
const LIMITS: readonly Partial<RequestLimits>[] = [
  {},
  { signedIn: false },
  { maxInlineBytes: 12, maxBulkBytes: 40, maxArguments: 5, maxQueryBytes: 100 },
];

const EXPECTED_ERRORS = [
  'invalid multibulk length',
  'unauthenticated multibulk length',
  'too big mbulk count string',
  'invalid bulk length',
  'unauthenticated bulk length',
  'too big bulk count string',
  "expected '$', got …",
  'too big inline request',
  'unbalanced quotes in request',
  'too big request',
].map((reason) => `Protocol error: ${reason}`);

interface Outcome {
  /** All frames as text, for comparison. */
  readonly frames: string;
  readonly count: number;
  readonly error: string | null;
  readonly bufferedBytes: number;
}

interface Tally {
  decoded: number;
  readonly errors: Map<string, number>;
}

type Run = (bytes: Buffer, nextLength: () => number, round: number) => Outcome;

function fuzz(frames: number, stream: (random: Random) => Buffer, run: Run): Tally {
  const random = seededRandom(20_260_101);
  const tally: Tally = { decoded: 0, errors: new Map() };
  let heapBytes = Number.NaN;
  for (let round = 0, judged = 0; judged < frames; round++) {
    const bytes = round % 8 === 0 ? stream(random) : mutate(stream(random), stream(random), random);
    const whole = run(bytes, () => bytes.length, round);
    expectSame(whole, run(bytes, chunkLengths(random), round), bytes);
    judged += whole.count + 1;
    tally.decoded += whole.count;
    if (whole.error !== null) {
      const reason = whole.error.replace(/got '.'$/s, 'got …');
      tally.errors.set(reason, (tally.errors.get(reason) ?? 0) + 1);
    }
    if (Number.isNaN(heapBytes) && judged > frames / 10) heapBytes = measureHeap();
  }
  expect(measureHeap() - heapBytes).toBeLessThan(MAX_HEAP_GROWTH_BYTES);
  return tally;
}

/** Chunks of one byte, of a few or of many bytes. */
function chunkLengths(random: Random): () => number {
  const longest = [1, 5, 20, 80][below(random, 4)]!;
  return () => 1 + below(random, longest);
}

function expectSame(whole: Outcome, cut: Outcome, bytes: Buffer): void {
  if (
    whole.frames !== cut.frames ||
    whole.error !== cut.error ||
    whole.bufferedBytes !== cut.bufferedBytes
  ) {
    expect({ bytes: bytes.toString('latin1'), ...cut }).toEqual({
      ...whole,
      bytes: bytes.toString('latin1'),
    });
  }
}

function runRequests(bytes: Buffer, nextLength: () => number, limits: RequestLimits): Outcome {
  const decoder = new RequestDecoder(limits);
  let frames = '';
  let count = 0;
  try {
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(at + nextLength(), bytes.length);
      decoder.push(bytes.subarray(at, end));
      at = end;
      for (let argv = decoder.next(); argv !== null; argv = decoder.next()) {
        frames += `${argv.length}:${argv.join('\n')};`;
        count++;
      }
      if (decoder.bufferedBytes > at * MAX_KEPT_PER_BYTE) {
        throw new Error(`${decoder.bufferedBytes} of ${at} buffered`);
      }
    }
    return { frames, count, error: null, bufferedBytes: decoder.bufferedBytes };
  } catch (error) {
    return { frames, count, error: messageOf(error), bufferedBytes: decoder.bufferedBytes };
  }
}

function runReplies(bytes: Buffer, nextLength: () => number): Outcome {
  const decoder = new ReplyDecoder();
  let frames = '';
  let count = 0;
  try {
    for (let at = 0; at < bytes.length; ) {
      const end = Math.min(at + nextLength(), bytes.length);
      decoder.push(bytes.subarray(at, end));
      at = end;
      for (let reply = decoder.next(); reply !== undefined; reply = decoder.next()) {
        frames += JSON.stringify(reply, (_key, value) =>
          typeof value === 'bigint' ? String(value) : value,
        );
        count++;
      }
    }
    return { frames, count, error: null, bufferedBytes: 0 };
  } catch (error) {
    return { frames, count, error: messageOf(error), bufferedBytes: 0 };
  }
}

/** Throws any error that is not a ProtocolError: it is a bug. */
function messageOf(error: unknown): string {
  if (error instanceof ProtocolError) return error.message;
  throw error;
}

function requestStream(random: Random): Buffer {
  let text = '';
  for (let left = 1 + below(random, 4); left > 0; left--) text += requestFrame(random);
  return Buffer.from(text, 'latin1');
}

function requestFrame(random: Random): string {
  const shape = random.next();
  if (shape < 0.15) return INLINE_REQUESTS[below(random, INLINE_REQUESTS.length)]!;
  if (shape < 0.2) return '*0\r\n';
  const argv: string[] = [];
  for (let left = 1 + below(random, shape < 0.25 ? 13 : 4); left > 0; left--) {
    argv.push(ARGUMENTS[below(random, ARGUMENTS.length)]!);
  }
  return encodeRequest(argv);
}

const INLINE_REQUESTS = [
  ...['PING\r\n', 'PING\n', '\r\n', 'SET k v NX\r\n', 'GET "a b"\r\n', 'GET "\\x41\\n\\""\r\n'],
  ...["GET 'a b'\r\n", "GET 'it\\'s'\n", ' ECHO \t x \r\n', 'EVAL "return 1" 0 x y z\r\n'],
];

const ARGUMENTS = [
  ...[
    'SETNX',
    'GET',
    'NX',
    'PX',
    '',
    '30000',
    'x',
    'key:000000012345',
    '\r\n',
    '\0\r\n$',
    '*1\r\n',
  ],
  ...['12345678', '123456789', 'b'.repeat(24), 'c'.repeat(25), '\xff'.repeat(30), 'd'.repeat(60)],
];

function replyStream(random: Random): Buffer {
  let text = '';
  for (let left = 1 + below(random, 3); left > 0; left--) text += replyFrame(random, 0);
  return Buffer.from(text, 'latin1');
}

function replyFrame(random: Random, depth: number): string {
  if (depth === 3 || random.next() < 0.6)
    return SCALAR_REPLIES[below(random, SCALAR_REPLIES.length)]!;
  const [sigil, itemsPerEntry] = AGGREGATES[below(random, AGGREGATES.length)]!;
  const size = below(random, 4);
  let text = `${sigil}${size}\r\n`;
  for (let left = size * itemsPerEntry; left > 0; left--) text += replyFrame(random, depth + 1);
  return text;
}

const SCALAR_REPLIES = [
  ...['+OK\r\n', '-ERR no\r\n', ':1\r\n', ':9223372036854775807\r\n', '$3\r\nabc\r\n', '$-1\r\n'],
  ...[
    '_\r\n',
    '#t\r\n',
    ',1.5\r\n',
    ',inf\r\n',
    '(123\r\n',
    '=6\r\ntxt:hi\r\n',
    '!5\r\nERR x\r\n',
    '*-1\r\n',
  ],
];

const AGGREGATES = [
  ...([
    ['*', 1],
    ['~', 1],
    ['>', 1],
    ['%', 2],
    ['|', 2],
  ] as const),
];

function measureHeap(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

// Most streams end in an error, and stack traces would take most of the time.
Error.stackTraceLimit = 0;
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
