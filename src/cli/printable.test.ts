import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOf } from './bytes.ts';
import {
  bytesFromPrintable,
  lineForTerminal,
  messageText,
  pageForTerminal,
  printable,
  safeJson,
} from './printable.ts';

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

describe('messageText', () => {
  it('escapes control characters and leaves what is escaped already', () => {
    const hostile = 'ERR \x1b[2J\u009b\u202e\r\n\x07 \\x1b é 锁';
    const shown = 'ERR \\x1b[2J\\u009b\\u202e\\r\\n\\x07 \\x1b é 锁';
    expect(messageText(hostile)).toBe(shown);
    expect(messageText(shown)).toBe(shown);
  });

  it('leaves out the middle of a message of more than 1024 characters', () => {
    expect(messageText('x'.repeat(1024))).toBe('x'.repeat(1024));
    const shown = messageText(`begin ${'x'.repeat(1_000_000)} end.`);
    expect(shown).toHaveLength(1024 + ' … '.length);
    expect(shown).toMatch(/^begin x+ … x+ end\.$/);
    expect(messageText('🔒'.repeat(1000))).not.toMatch(/\p{Cs}/u);
  });
});

describe('a reply for the terminal', () => {
  it.each([
    ['OK', 'OK'],
    ['ERR "a\\b"', 'ERR "a\\b"'],
    [bytesOf('é锁'), bytesOf('é锁')],
    ['\x1b]0;title\x07\n\r', '\\x1b]0;title\\x07\\n\\r'],
    [bytesOf('\u009b2J'), '\\u009b2J'],
    ['\x9b2J', '\\x9b2J'],
  ])('shows the line %j as %j', (bytes, shown) => {
    expect(lineForTerminal(bytes)).toBe(shown);
  });

  it('keeps the line ends and tabs of a page', () => {
    expect(pageForTerminal('# Server\r\na:\tb\n\nover\rwritten \x1b[A')).toBe(
      '# Server\r\na:\tb\n\nover\\rwritten \\x1b[A',
    );
  });
});
