import { describe, expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { encodeRequest } from './encoder.ts';
import { ProtocolError } from './protocol-error.ts';
import { DEFAULT_REQUEST_LIMITS, RequestDecoder, type RequestLimits } from './request-decoder.ts';

interface Outcome {
  readonly requests: readonly string[][];
  readonly error: string | null;
}

/** Frames, their requests, and the error at the end if there is one. */
const FRAMES: readonly (readonly [
  name: string,
  bytes: string,
  ...expected: (string[] | string)[],
])[] = [
  ['one request', '*2\r\n$3\r\nGET\r\n$1\r\nk\r\n', ['GET', 'k']],
  ['two requests', '*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n', ['PING'], ['QUIT']],
  ['an empty argument', '*2\r\n$4\r\nECHO\r\n$0\r\n\r\n', ['ECHO', '']],
  ['CR, LF and NUL in an argument', '*1\r\n$5\r\n\r\n\0*1\r\n', ['\r\n\0*1']],
  ['every byte', encodeRequest([everyByte()]), [everyByte()]],
  ['ten arguments', encodeRequest([...'abcdefghij']), [...'abcdefghij']],
  ['arguments of many lengths', encodeRequest(manyLengths()), manyLengths()],
  ['more arguments than the fast path takes', encodeRequest(letters(300)), letters(300)],
  ['any byte where LF belongs', '*1\r.$4\r.PING..', ['PING']],
  ['no requests of no arguments', '*0\r\n*-1\r\n*-9223372036854775808\r\nPING\r\n', ['PING']],
  ['inline', 'SET k  v\r\n', ['SET', 'k', 'v']],
  ['inline ended by LF alone', 'PING\nPING\n', ['PING'], ['PING']],
  ['empty lines', '\r\n\n  \r\n\t\v\f\r\nPING\r\n', ['PING']],
  ['inline between requests', 'PING\r\n*1\r\n$1\r\nx\r\nPING\r\n', ['PING'], ['x'], ['PING']],
  ['inline of long arguments', `a ${'b'.repeat(40)} c\r\n`, ['a', 'b'.repeat(40), 'c']],
  [
    'double quotes',
    '"a b" "\\x41\\xfF\\n\\r\\t\\b\\a\\\\\\"\\q"\n',
    ['a b', 'A\xff\n\r\t\b\x07\\"q'],
  ],
  ['an escape that is no byte', '"\\x4" "\\xg0" "\\x"\n', ['x4', 'xg0', 'x']],
  ['single quotes', "'a b' '\\'\\n\"'\n", ['a b', '\'\\n"']],
  ['empty quotes', '"" \'\'\n', ['', '']],
  ['quotes in the middle of a word', 'ab"c d" e\n', ['abc d', 'e']],
  ['vertical tab inside a word', 'a\vb\x0bc \vd\n', ['a\vb\vc', 'd']],
  ['CR inside a line', 'a\rb\r\r\n', ['a', 'b']],
  ['an unfinished request', '*2\r\n$3\r\nGET\r\n$1\r\n'],
  ['nothing behind a NUL is found', 'PING\r\nPI\0NG\r\nPING\r\n', ['PING']],
  ['nor in a count', '*1\0\r\n$4\r\nPING\r\n'],
  ['nor in a length', '*1\r\n$4\0\r\nPING\r\n'],

  ['a count that is no number', '*x\r\n', 'invalid multibulk length'],
  ['no count', '*\r\n', 'invalid multibulk length'],
  ['a plus', '*+1\r\n', 'invalid multibulk length'],
  ['a leading zero', '*01\r\n', 'invalid multibulk length'],
  ['minus zero', '*-0\r\n', 'invalid multibulk length'],
  ['a blank', '* 1\r\n', 'invalid multibulk length'],
  ['a blank behind', '*1 \r\n', 'invalid multibulk length'],
  ['a count ended by LF', '*1\n$4\r\nPING\r\n', 'invalid multibulk length'],
  ['a count above 2^31', '*2147483648\r\n', 'invalid multibulk length'],
  ['a count above 2^63', '*9223372036854775808\r\n', 'invalid multibulk length'],
  ['a count below -2^63', '*-9223372036854775809\r\n', 'invalid multibulk length'],
  ['a negative length', '*1\r\n$-1\r\n', 'invalid bulk length'],
  ['no length', '*1\r\n$\r\n', 'invalid bulk length'],
  ['a length with a plus', '*1\r\n$+4\r\nPING\r\n', 'invalid bulk length'],
  ['a length with a zero', '*1\r\n$04\r\nPING\r\n', 'invalid bulk length'],
  ['a length of two zeros', '*1\r\n$00\r\n\r\n', 'invalid bulk length'],
  ['a length above the limit', '*1\r\n$536870913\r\n', 'invalid bulk length'],
  ['a length of twenty-one digits', `*1\r\n$1${'0'.repeat(20)}\r\n`, 'invalid bulk length'],
  ['no dollar', '*1\r\n:4\r\n', "expected '$', got ':'"],
  ['an empty line for a length', '*1\r\n\r\n', "expected '$', got '\r'"],
  ['a byte above 127', '*1\r\n\xe94\r\n', "expected '$', got '\xe9'"],
  ['an error behind a request', 'PING\r\n*x\r\nPING\r\n', ['PING'], 'invalid multibulk length'],
  ['an open double quote', '"abc\r\n', 'unbalanced quotes in request'],
  ['an open single quote', "'abc\r\n", 'unbalanced quotes in request'],
  ['a backslash at the end', '"abc\\\r\n', 'unbalanced quotes in request'],
  ['text behind a quote', '"abc"d\r\n', 'unbalanced quotes in request'],
  ['text behind a single quote', "'abc'd\r\n", 'unbalanced quotes in request'],
];

describe('requests, for any split into chunks', () => {
  for (const [name, bytes, ...expected] of FRAMES) {
    it(name, () => {
      const last = expected.at(-1);
      const error = typeof last === 'string' ? `Protocol error: ${last}` : null;
      const requests = expected.filter((item) => typeof item !== 'string');
      expectEveryCut(bytes, { requests, error });
    });
  }
});

describe('limits', () => {
  const long = 65_536;
  it.each<[string, string, Partial<RequestLimits>, string | null]>([
    ['the longest inline request', `${'a'.repeat(long)}\n`, {}, null],
    ['a longer one', `${'a'.repeat(long + 1)}\n`, {}, 'too big inline request'],
    ['one that has not ended', 'a'.repeat(long + 1), {}, 'too big inline request'],
    ['one that a NUL hides the end of', `\0${'\n'.repeat(long)}`, {}, 'too big inline request'],
    ['a long count', `*${'1'.repeat(long)}`, {}, 'too big mbulk count string'],
    ['a long length', `*1\r\n$${'1'.repeat(long)}`, {}, 'too big bulk count string'],
    ['eleven arguments', '*11\r\n', { signedIn: false }, 'unauthenticated multibulk length'],
    ['ten', encodeRequest([...'abcdefghij']), { signedIn: false }, null],
    ['16385 bytes', '*1\r\n$16385\r\n', { signedIn: false }, 'unauthenticated bulk length'],
    ['16384 bytes', encodeRequest(['a'.repeat(16_384)]), { signedIn: false }, null],
    ['more than 2^31 at that', '*2147483648\r\n', { signedIn: false }, 'invalid multibulk length'],
    ['a lower count', '*3\r\n', { maxArguments: 2 }, 'invalid multibulk length'],
    [
      'a whole request over it',
      encodeRequest(['a', 'b', 'c']),
      { maxArguments: 2 },
      'invalid multibulk length',
    ],
    ['a lower length', encodeRequest(['abc']), { maxBulkBytes: 2 }, 'invalid bulk length'],
    ['the longest query', encodeRequest(['abc']), { maxQueryBytes: 13 }, null],
    ['a longer one', encodeRequest(['abc']), { maxQueryBytes: 12 }, 'too big request'],
    ['in its last argument', encodeRequest(['abc', 'd']), { maxQueryBytes: 19 }, 'too big request'],
    ['each alone within it', encodeRequest(['abc']).repeat(9), { maxQueryBytes: 13 }, null],
  ])('%s', (_name, bytes, limits, reason) => {
    const { error } = decode([Buffer.from(bytes, 'latin1')], limits);
    expect(error).toBe(reason === null ? null : `Protocol error: ${reason}`);
    expectEveryCut(bytes, decode([Buffer.from(bytes, 'latin1')], limits), limits);
  });

  it('may change between two requests', () => {
    const limits = { ...DEFAULT_REQUEST_LIMITS, signedIn: false };
    const decoder = new RequestDecoder(limits);
    decoder.push(Buffer.from(`AUTH x\r\n${encodeRequest(letters(11))}`));
    expect(decoder.next()).toEqual(['AUTH', 'x']);
    limits.signedIn = true;
    expect(decoder.next()).toEqual(letters(11));
  });
});

describe('the decoder', () => {
  it('returns requests one by one while chunks arrive', () => {
    const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS });
    decoder.push(Buffer.from('PING\r\nECHO a'));
    decoder.push(Buffer.from('b\r\nPI'));
    decoder.push(Buffer.from('NG\r\n'));
    expect(decoder.bufferedBytes).toBe(21);
    expect(decoder.next()).toEqual(['PING']);
    expect(decoder.bufferedBytes).toBe(15);
    expect(decoder.next()).toEqual(['ECHO', 'ab']);
    expect(decoder.bufferedBytes).toBe(6);
    expect(decoder.next()).toEqual(['PING']);
    expect(decoder.next()).toBeNull();
    expect(decoder.bufferedBytes).toBe(0);
  });

  it.each([1, 5000])('keeps the order of chunks that wait, with words of %i bytes', (length) => {
    const decoder = new RequestDecoder(DEFAULT_REQUEST_LIMITS);
    const push = (letter: string): void =>
      decoder.push(Buffer.from(`*1\r\n$${length}\r\n${letter.repeat(length)}\r\n`));
    const next = (): string | undefined => decoder.next()?.[0]?.[0];
    for (const letter of 'abcd') push(letter);
    expect([next(), next()]).toEqual(['a', 'b']);
    push('e');
    push('f');
    expect([next(), next(), next()]).toEqual(['c', 'd', 'e']);
    // The last chunk is used up while another one waits.
    push('g');
    expect([next(), next(), next()]).toEqual(['f', 'g', undefined]);
  });

  it('throws again after an invalid frame, and keeps no bytes', () => {
    const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS });
    decoder.push(Buffer.from('*1\r\n$4\r\nPING\r\n*x\r\nPING\r\n'));
    expect(decoder.next()).toEqual(['PING']);
    expect(() => decoder.next()).toThrow(ProtocolError);
    decoder.push(Buffer.from('PING\r\n'));
    expect(() => decoder.next()).toThrow('Protocol error: invalid multibulk length');
    expect(decoder.bufferedBytes).toBe(0);
  });

  it('counts the bytes of an unfinished request, and 32 for each argument', () => {
    const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS });
    let pushed = 0;
    for (const [piece, count] of [
      ['*3\r', 0],
      ['\n$3\r\nGET', 0],
      ['\r\n$5\r\nab', 1],
      ['c', 1],
      ['de\r\n$', 2],
      ['1\r\n', 2],
    ] as const) {
      decoder.push(Buffer.from(piece));
      expect(decoder.next()).toBeNull();
      pushed += piece.length;
      expect(decoder.bufferedBytes).toBe(pushed + count * 32);
    }
  });

  it('returns strings that do not change with the chunk', () => {
    const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS });
    const chunk = Buffer.from(encodeRequest(['GET', 'k'.repeat(16), 'k'.repeat(60)]));
    decoder.push(chunk);
    const request = decoder.next();
    chunk.fill(0);
    expect(request).toEqual(['GET', 'k'.repeat(16), 'k'.repeat(60)]);
  });

  it('does not allocate for a length before its bytes arrive', () => {
    const decoders = Array.from({ length: 200 }, () => new RequestDecoder(DEFAULT_REQUEST_LIMITS));
    const before = process.memoryUsage().arrayBuffers;
    for (const decoder of decoders) {
      decoder.push(Buffer.from('*1000000\r\n$500000000\r\nabc'));
      expect(decoder.next()).toBeNull();
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
  });

  it('decodes a large argument in linear time', () => {
    const decoder = new RequestDecoder(DEFAULT_REQUEST_LIMITS);
    const chunk = Buffer.alloc(1024, 'x');
    decoder.push(Buffer.from(`*1\r\n$${32 * 1024 * 1024}\r\n`));
    for (let index = 0; index < 32 * 1024; index++) {
      decoder.push(chunk);
      // Copying the argument for every chunk would move 512 GiB.
      expect(decoder.next() === null).toBe(true);
    }
    decoder.push(Buffer.from('\r\n'));
    expect(decoder.next()![0]!.length).toBe(32 * 1024 * 1024);
  });

  it('decodes 240,000 chunks that wait, of one byte each, in linear time', {
    timeout: 10_000,
  }, () => {
    const decoder = new RequestDecoder(DEFAULT_REQUEST_LIMITS);
    const ping = Buffer.from('PING\r\n');
    for (let index = 0; index < 240_000; index++) {
      const at = index % ping.length;
      decoder.push(ping.subarray(at, at + 1));
    }
    expect(decoder.unreadBytes).toBe(240_000);
    let count = 0;
    // Moving the list of chunks for every chunk would move 230 GB.
    while (decoder.next() !== null) count++;
    expect(count).toBe(40_000);
  });
});

function expectEveryCut(
  bytes: string,
  expected: Outcome,
  limits: Partial<RequestLimits> = {},
): void {
  const buffer = Buffer.from(bytes, 'latin1');
  expect(decode([buffer], limits)).toEqual(expected);
  expect(
    decode(
      cut(buffer, () => 1),
      limits,
    ),
  ).toEqual(expected);
  for (let seed = 1; seed <= 20; seed++) {
    const random = seededRandom(seed);
    const longest = 1 + random.next() * Math.min(buffer.length, 40 * seed);
    const chunks = cut(buffer, () => 1 + Math.floor(random.next() * longest));
    expect(decode(chunks, limits)).toEqual(expected);
  }
}

function cut(bytes: Buffer, nextLength: () => number): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + nextLength();
    chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

function decode(chunks: readonly Buffer[], changes: Partial<RequestLimits>): Outcome {
  const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS, ...changes });
  const requests: string[][] = [];
  try {
    for (const chunk of chunks) {
      decoder.push(chunk);
      for (let argv = decoder.next(); argv !== null; argv = decoder.next()) requests.push(argv);
    }
    return { requests, error: null };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return { requests, error: error.message };
  }
}

function everyByte(): string {
  return String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));
}

function manyLengths(): string[] {
  return Array.from({ length: 70 }, (_, length) => everyByte().slice(255 - length, 255));
}

function letters(count: number): string[] {
  return Array.from({ length: count }, (_, index) => 'abcdefghijklm'.charAt(index % 13));
}

describe('compact', () => {
  it('copies the unread rest of a chunk, so that the memory of the chunk is free', () => {
    const decoder = new RequestDecoder({ ...DEFAULT_REQUEST_LIMITS });
    const chunk = Buffer.from(encodeRequest(['first']) + encodeRequest(['second', 'argument']));
    decoder.push(chunk);
    expect(decoder.next()).toEqual(['first']);
    decoder.compact();
    chunk.fill(0);
    expect(decoder.next()).toEqual(['second', 'argument']);
    decoder.compact();
    expect(decoder.next()).toBeNull();
  });
});
