import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { bytesSerializer, jsonSerializer } from './serializer.ts';

const { encode, decode } = jsonSerializer;

describe('jsonSerializer', () => {
  it.each([
    [{ at: new Date(0), list: [new Date(1.5e12)] }],
    [new Date(Number.NaN)],
    [
      new Map<unknown, unknown>([
        ['a', new Set([1, '~'])],
        [{ key: 1 }, new Map()],
      ]),
    ],
    [[10n, -(2n ** 70n)]],
    [[Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
    ['~d0'],
    [{ '~': '~', at: new Date(0), text: '~~s' }],
    [JSON.parse('{"__proto__":{"at":"~n1"}}')],
    [[null, 0, '', false, 'x y\n€', { a: [1] }]],
    [undefined],
  ])('decodes %o to an equal value', (value) => {
    expect(decode(encode(value))).toStrictEqual(value);
  });

  it('encodes a value without special types as plain JSON', () => {
    const value = { id: 7, tags: ['red'], price: 19.99, none: null };
    expect(encode(value)).toBe(JSON.stringify(value));
  });

  it('decodes plain JSON, as text and as bytes', () => {
    expect(decode('{"at":"~d0"}')).toEqual({ at: '~d0' });
    expect(decode(Buffer.from('[1]'))).toEqual([1]);
  });

  it('keeps a Date, Map and Set of another realm', () => {
    const value = runInNewContext('({ at: new Date(5), map: new Map([[1, new Set([2])]]) })');
    expect(decode(encode(value))).toEqual({ at: new Date(5), map: new Map([[1, new Set([2])]]) });
  });

  it('encodes a class instance by its toJSON, or by its fields', () => {
    class Money {
      readonly cents = 5;
    }
    const decimal = { toJSON: () => '0.1' };
    expect(decode(encode([new Money(), decimal]))).toEqual([{ cents: 5 }, '0.1']);
  });

  it.each([[() => {}], [Symbol('a')]])('throws a TypeError for %o', (value) => {
    expect(() => encode(value)).toThrow(TypeError);
  });

  it.each(['~', '~"~x1"', '~{', '{'])('throws for the text %j', (text) => {
    expect(() => decode(text)).toThrow();
  });
});

it('bytesSerializer throws a TypeError for a value that is not a Uint8Array', () => {
  expect(() => bytesSerializer.encode('text')).toThrow(
    'bytesSerializer keeps Uint8Array; got string',
  );
});
