import { describe, expect, it } from 'vitest';
import { encode, encodeRequest } from './encoder.ts';
import {
  BigNumberReply,
  DoubleReply,
  ErrorReply,
  ManyReply,
  MapReply,
  NO_REPLY,
  NULL_ARRAY,
  OK,
  PushReply,
  QUEUED,
  type Reply,
  SetReply,
  SimpleReply,
  VerbatimReply,
} from './reply.ts';

const FORMS: readonly (readonly [name: string, reply: Reply, resp2: string, resp3: string])[] = [
  ['bulk', 'abc', '$3\r\nabc\r\n', '$3\r\nabc\r\n'],
  ['empty bulk', '', '$0\r\n\r\n', '$0\r\n\r\n'],
  ['bulk with line breaks', 'a\r\nb', '$4\r\na\r\nb\r\n', '$4\r\na\r\nb\r\n'],
  ['zero', 0, ':0\r\n', ':0\r\n'],
  ['minus zero', -0, ':0\r\n', ':0\r\n'],
  ['minus one', -1, ':-1\r\n', ':-1\r\n'],
  ['minus two', -2, ':-2\r\n', ':-2\r\n'],
  ['1023', 1023, ':1023\r\n', ':1023\r\n'],
  ['1024', 1024, ':1024\r\n', ':1024\r\n'],
  ['bigint', 2n ** 63n - 1n, ':9223372036854775807\r\n', ':9223372036854775807\r\n'],
  ['true', true, ':1\r\n', '#t\r\n'],
  ['false', false, ':0\r\n', '#f\r\n'],
  ['null', null, '$-1\r\n', '_\r\n'],
  ['null array', NULL_ARRAY, '*-1\r\n', '_\r\n'],
  [
    'array',
    ['a', 1, [null]],
    '*3\r\n$1\r\na\r\n:1\r\n*1\r\n$-1\r\n',
    '*3\r\n$1\r\na\r\n:1\r\n*1\r\n_\r\n',
  ],
  ['empty array', [], '*0\r\n', '*0\r\n'],
  ['OK', OK, '+OK\r\n', '+OK\r\n'],
  ['simple', QUEUED, '+QUEUED\r\n', '+QUEUED\r\n'],
  ['error', new ErrorReply('ERR no'), '-ERR no\r\n', '-ERR no\r\n'],
  ['double', new DoubleReply(1.5, '1.5'), '$3\r\n1.5\r\n', ',1.5\r\n'],
  ['infinity', new DoubleReply(1 / 0, 'Infinity'), '$3\r\ninf\r\n', ',inf\r\n'],
  ['minus infinity', new DoubleReply(-1 / 0, ''), '$4\r\n-inf\r\n', ',-inf\r\n'],
  ['not a number', new DoubleReply(Number.NaN, 'NaN'), '$3\r\nnan\r\n', ',nan\r\n'],
  ['big number', new BigNumberReply('123'), '$3\r\n123\r\n', '(123\r\n'],
  [
    'map',
    new MapReply([
      ['a', 1],
      ['b', null],
    ]),
    '*4\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n$-1\r\n',
    '%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n_\r\n',
  ],
  ['set', new SetReply(['a']), '*1\r\n$1\r\na\r\n', '~1\r\n$1\r\na\r\n'],
  ['verbatim', new VerbatimReply('txt', 'hi'), '$2\r\nhi\r\n', '=6\r\ntxt:hi\r\n'],
  ['verbatim of a short format', new VerbatimReply('t', 'hi'), '$2\r\nhi\r\n', '=6\r\nt  :hi\r\n'],
  ['push', new PushReply(['a', 1]), '*2\r\n$1\r\na\r\n:1\r\n', '>2\r\n$1\r\na\r\n:1\r\n'],
  ['many', new ManyReply(['a', true]), '$1\r\na\r\n:1\r\n', '$1\r\na\r\n#t\r\n'],
  ['no reply', NO_REPLY, '', ''],
];

describe('encode', () => {
  it.each(FORMS)('%s', (_name, reply, resp2, resp3) => {
    expect(encode(reply, 2)).toBe(resp2);
    expect(encode(reply, 3)).toBe(resp3);
  });

  it('counts the bytes of long strings', () => {
    for (const length of [1023, 1024, 100_000]) {
      const text = '\xff'.repeat(length);
      expect(encode(text, 2)).toBe(`$${length}\r\n${text}\r\n`);
    }
  });

  it('replaces CR and LF in lines by spaces, so that no text can forge a reply', () => {
    const forged = 'a\r\n+OK\n:1\r';
    expect(encode(new SimpleReply(forged), 2)).toBe('+a  +OK :1 \r\n');
    expect(encode(new ErrorReply(forged), 2)).toBe('-a  +OK :1 \r\n');
    expect(encode(new BigNumberReply(forged), 3)).toBe('(a  +OK :1 \r\n');
    expect(encode(new DoubleReply(1, forged), 3)).toBe(',a  +OK :1 \r\n');
    expect(encode([new ErrorReply(forged)], 3)).toBe('*1\r\n-a  +OK :1 \r\n');
  });

  it('replaces chars whose low byte is CR or LF too', () => {
    const bytes = Buffer.from(encode(new ErrorReply('a\u010db\u560ac'), 2), 'latin1');
    expect(bytes.toString('latin1')).toBe('-a b c\r\n');
  });

  it('encodes 1000 nested arrays and arrays of 200,000 items', () => {
    let deep: Reply = 1;
    for (let depth = 0; depth < 1000; depth++) deep = [deep];
    expect(encode(deep, 2)).toBe(`${'*1\r\n'.repeat(1000)}:1\r\n`);
    const wide = Array.from({ length: 200_000 }, () => 'x');
    expect(encode(wide, 2)).toBe(`*200000\r\n${'$1\r\nx\r\n'.repeat(200_000)}`);
  });
});

describe('encodeRequest', () => {
  it('writes an array of bulk strings', () => {
    expect(encodeRequest(['SET', '', '\r\n\xff'])).toBe(
      '*3\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\n\r\n\xff\r\n',
    );
  });
});
