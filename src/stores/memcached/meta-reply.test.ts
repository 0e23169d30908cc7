import { describe, expect, it } from 'vitest';
import { MAX_VALUE_BYTES, MetaDecoder, MetaError, type MetaReply } from './meta-reply.ts';

const WIRE =
  'HD c7\r\nVA 5 c8 t-1\r\na\r\nbc\r\nNOT_STORED\r\nEN\r\nVA 0 t3\r\n\r\nERROR\r\nNF\r\nEX\r\n';

const shown = (reply: MetaReply): unknown =>
  reply.code === 'error'
    ? reply.line
    : [reply.code, Object.fromEntries(reply.flags), `${reply.value}`];

function decode(...chunks: readonly Buffer[]): unknown[] {
  const decoder = new MetaDecoder();
  return chunks.flatMap((chunk) => decoder.push(chunk)).map(shown);
}

describe('MetaDecoder', () => {
  it('returns the same replies wherever the bytes are split', () => {
    const bytes = Buffer.from(WIRE);
    const whole = decode(bytes);
    expect(whole).toEqual([
      ['HD', { c: '7' }, ''],
      ['VA', { c: '8', t: '-1' }, 'a\r\nbc'],
      ['NOT_STORED', {}, ''],
      ['EN', {}, ''],
      ['VA', { t: '3' }, ''],
      'ERROR',
      ['NF', {}, ''],
      ['EX', {}, ''],
    ]);
    for (let at = 1; at < bytes.length; at++) {
      expect(decode(bytes.subarray(0, at), bytes.subarray(at)), `split at ${at}`).toEqual(whole);
    }
    expect(decode(...[...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole);
  });

  it('keeps the start of a large value, and the reply after it', () => {
    const size = 3 * MAX_VALUE_BYTES;
    const chunks = [`VA ${size} c1\r\n`, 'x'.repeat(size - 1), 'x\r', '\nHD c2\r\n'];
    const [value, next] = decode(...chunks.map((text) => Buffer.from(text)));
    expect(value).toEqual(['VA', { c: '1' }, 'x'.repeat(MAX_VALUE_BYTES)]);
    expect(next).toEqual(['HD', { c: '2' }, '']);
  });

  it.each([
    ['a line without an end', 'x'.repeat(3000)],
    ['a size that is no number', 'VA x\r\n'],
    ['a negative size', 'VA -9 c1\r\nabcdef'],
  ])('throws for %s', (_, text) => {
    expect(() => decode(Buffer.from(text))).toThrow(MetaError);
  });

  it('shows the first 100 characters of a line that is no reply', () => {
    expect(decode(Buffer.from(`HTTP/1.1 400 ${'x'.repeat(1000)}\r\n`))).toEqual([
      `HTTP/1.1 400 ${'x'.repeat(87)}`,
    ]);
  });
});
