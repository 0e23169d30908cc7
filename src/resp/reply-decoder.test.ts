import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encode, encodeRequest } from './encoder.ts';
import { ProtocolError } from './protocol-error.ts';
import {
  BigNumberReply,
  DoubleReply,
  ErrorReply,
  MapReply,
  NULL_ARRAY,
  PushReply,
  type Reply,
  SetReply,
  SimpleReply,
  VerbatimReply,
} from './reply.ts';
import { ReplyDecoder } from './reply-decoder.ts';
import { DEFAULT_REQUEST_LIMITS, RequestDecoder } from './request-decoder.ts';

const FRAMES: readonly (readonly [name: string, bytes: string, ...replies: Reply[]])[] = [
  ['simple', '+OK\r\n', new SimpleReply('OK')],
  ['error', '-ERR no\r\n', new ErrorReply('ERR no')],
  ['blob error', '!6\r\nERR\r\nx\r\n', new ErrorReply('ERR\r\nx')],
  ['integers', ':1\r\n:-2\r\n:9007199254740993\r\n', 1, -2, 9007199254740993n],
  ['bulk', '$5\r\na\r\n\0b\r\n', 'a\r\n\0b'],
  ['empty bulk', '$0\r\n\r\n', ''],
  ['NUL in a line', '+a\0b\r\n', new SimpleReply('a\0b')],
  ['nulls', '$-1\r\n*-1\r\n_\r\n', null, NULL_ARRAY, null],
  ['booleans', '#t\r\n#f\r\n', true, false],
  [
    'doubles',
    ',1.5\r\n,-2e10\r\n,inf\r\n',
    ...doubles([1.5, '1.5'], [-2e10, '-2e10'], [1 / 0, 'inf']),
  ],
  ['more doubles', ',-inf\r\n,nan\r\n', ...doubles([-1 / 0, '-inf'], [Number.NaN, 'nan'])],
  ['big number', '(12345678901234567890\r\n', new BigNumberReply('12345678901234567890')],
  ['verbatim', '=7\r\nmkd:a\r\n\r\n', new VerbatimReply('mkd', 'a\r\n')],
  ['arrays', '*3\r\n*0\r\n*1\r\n:1\r\n$1\r\na\r\n:2\r\n', [[], [1], 'a'], 2],
  ['set', '~2\r\n:1\r\n:2\r\n', new SetReply([1, 2])],
  [
    'map',
    '%2\r\n+a\r\n:1\r\n*1\r\n:2\r\n%0\r\n',
    new MapReply([
      [new SimpleReply('a'), 1],
      [[2], new MapReply([])],
    ]),
  ],
  ['push', '>2\r\n+a\r\n:1\r\n:2\r\n', new PushReply([new SimpleReply('a'), 1]), 2],
  ['attribute', '|1\r\n+ttl\r\n*2\r\n:1\r\n:2\r\n:3\r\n', 3],
  ['attribute of an item', '*2\r\n:1\r\n|1\r\n+a\r\n|0\r\n+b\r\n:2\r\n:3\r\n', [1, 2], 3],
  ['attribute at the end of nothing', '|0\r\n*0\r\n', []],
  ['unfinished', ':1\r\n*2\r\n:1\r\n', 1],
];

describe('replies, whole and byte by byte', () => {
  for (const [name, bytes, ...replies] of FRAMES) {
    it(name, () => {
      expect(decode(bytes, bytes.length)).toEqual(replies);
      expect(decode(bytes, 1)).toEqual(replies);
    });
  }
});

describe('invalid replies', () => {
  it.each([
    ['unknown type', 'x1\r\n'],
    ['empty line', '\r\n'],
    ['length that is no number', '$x\r\n'],
    ['length below -1', '$-2\r\n'],
    ['absent map', '%-1\r\n'],
    ['streamed array', '*?\r\n'],
    ['length above a string', '$536870889\r\n'],
    ['integer with a plus', ':+1\r\n'],
    ['boolean', '#x\r\n'],
    ['null with text', '_x\r\n'],
    ['double', ',constructor\r\n'],
    ['endless line', `+${'a'.repeat(70_000)}`],
    ['endless depth', '*1\r\n'.repeat(5000)],
  ])('%s', (_name, bytes) => {
    const decoder = new ReplyDecoder();
    decoder.push(Buffer.from(bytes));
    expect(() => decoder.next()).toThrow(ProtocolError);
    decoder.push(Buffer.from(':1\r\n'));
    expect(() => decoder.next()).toThrow(ProtocolError);
  });
});

const latin1 = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte)),
});
const line = latin1.map((text) => text.replace(/[\r\n]/g, ' '));
const { reply: anyReply } = fc.letrec<{ reply: Reply }>((tie) => {
  const items = fc.array(tie('reply'), { maxLength: 5 });
  return {
    reply: fc.oneof(
      { depthSize: 'medium' },
      latin1,
      fc.maxSafeInteger(),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
      fc.boolean(),
      fc.constant(null),
      line.map((text) => new SimpleReply(text)),
      line.map((text) => new ErrorReply(text)),
      fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .map((value) => new DoubleReply(Number(String(value)), String(value))),
      fc.bigInt().map((value) => new BigNumberReply(String(value))),
      latin1.map((text) => new VerbatimReply('txt', text)),
      items,
      items.map((members) => new SetReply(members)),
      items.map((pushed) => new PushReply(pushed)),
      fc
        .array(fc.tuple(tie('reply'), tie('reply')), { maxLength: 3 })
        .map((entries) => new MapReply(entries)),
    ),
  };
});

describe('round trips', () => {
  it('decodes what the encoder writes, for any split into chunks', () => {
    fc.assert(
      fc.property(fc.array(anyReply), fc.integer({ min: 1, max: 50 }), (replies, chunkLength) => {
        const bytes = replies.map((reply) => encode(reply, 3)).join('');
        expect(decode(bytes, chunkLength)).toEqual(replies);
      }),
      { numRuns: 500, seed: 1 },
    );
  });

  it('decodes the requests that encodeRequest writes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(latin1, { minLength: 1 })),
        fc.integer({ min: 1, max: 50 }),
        (requests, chunkLength) => {
          const decoder = new RequestDecoder(DEFAULT_REQUEST_LIMITS);
          const bytes = Buffer.from(requests.map(encodeRequest).join(''), 'latin1');
          const decoded: string[][] = [];
          for (let at = 0; at < bytes.length; at += chunkLength) {
            decoder.push(bytes.subarray(at, at + chunkLength));
            for (let argv = decoder.next(); argv !== null; argv = decoder.next())
              decoded.push(argv);
          }
          expect(decoded).toEqual(requests);
        },
      ),
      { numRuns: 500, seed: 1 },
    );
  });
});

function decode(bytes: string, chunkLength: number): Reply[] {
  const decoder = new ReplyDecoder();
  const replies: Reply[] = [];
  for (let at = 0; at < bytes.length; at += chunkLength) {
    decoder.push(Buffer.from(bytes.slice(at, at + chunkLength), 'latin1'));
    for (let reply = decoder.next(); reply !== undefined; reply = decoder.next())
      replies.push(reply);
  }
  return replies;
}

function doubles(...pairs: readonly (readonly [number, string])[]): DoubleReply[] {
  return pairs.map(([value, text]) => new DoubleReply(value, text));
}
