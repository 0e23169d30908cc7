import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesFromPrintable, printable, safeJson } from './printable.ts';

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** What a terminal could act on, or a reader be misled by. */
const HARMFUL = /[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

describe('a name for the terminal', () => {
  it.each([
    ['order:42', 'order:42'],
    ['锁🔒名', '锁🔒名'],
    ['a}b{c', 'a}b{c'],
    ['back\\slash', 'back\\\\slash'],
    ['\x1b[2J\u009b31m', '\\x1b[2J\\u009b31m'],
    ['a\nb\tc\rd\0', 'a\\nb\\tc\\rd\\x00'],
    ['rtl\u202eabc', 'rtl\\u202eabc'],
    ['tag\u{e0041}', 'tag\\u{e0041}'],
  ])('%j is printed as %s, and leads back', (name, shown) => {
    expect(printable(utf8(name))).toBe(shown);
    expect(bytesFromPrintable(shown)).toBe(utf8(name));
  });

  it('shows bytes that are no text as bytes', () => {
    expect(printable('\xff\xfea')).toBe('\\xff\\xfea');
    expect(bytesFromPrintable('\\xff\\xfea')).toBe('\xff\xfea');
  });

  it('is harmless and unambiguous, whatever the bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 12 }).map((each) => Buffer.from(each));
    const text = fc.string({ unit: 'binary', maxLength: 8 }).map((each) => Buffer.from(each));
    fc.assert(
      fc.property(fc.oneof(bytes, text), (buffer) => {
        const shown = printable(buffer.toString('latin1'));
        expect(shown).not.toMatch(HARMFUL);
        expect(bytesFromPrintable(shown)).toBe(buffer.toString('latin1'));
      }),
      { numRuns: 2000 },
    );
  });

  it('is harmless in JSON too, and the same for a program', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        const json = safeJson({ name }, 2);
        expect(json.replaceAll('\n', '')).not.toMatch(HARMFUL);
        expect(JSON.parse(json)).toEqual({ name });
      }),
    );
  });
});
