import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { matchesGlob } from './glob.ts';

describe('matchesGlob', () => {
  // What redis-server 7.0.15 answers to PUBSUB CHANNELS, on a channel of that name.
  test.each<[pattern: string, text: string, matches: boolean]>([
    ['', '', true],
    ['', 'a', false],
    ['*', '', false],
    ['**', '', false],
    ['?', '', false],
    ['a', 'a', true],
    ['a', 'A', false],
    ['a', 'ab', false],
    ['h?llo', 'hello', true],
    ['h?llo', 'hllo', false],
    ['h*llo', 'hllo', true],
    ['h*llo', 'heeeello', true],
    ['h*llo', 'hello!', false],
    ['a*', 'a', true],
    ['a**', 'a', true],
    ['*a', 'ba', true],
    ['*a*b*', 'xxaxxbxx', true],
    ['*a*b*', 'xxbxxaxx', false],
    ['h[ae]llo', 'hallo', true],
    ['h[ae]llo', 'hillo', false],
    ['h[^e]llo', 'hallo', true],
    ['h[^e]llo', 'hello', false],
    ['h[a-b]llo', 'hbllo', true],
    ['h[b-a]llo', 'hallo', true],
    ['h[a-b]llo', 'hcllo', false],
    ['[a-c-e]', 'd', false],
    ['[a-c-e]', '-', true],
    ['[]', 'a', false],
    ['[^]', 'a', true],
    ['[]a]', 'a', false],
    ['[a', 'a', true],
    ['[a', 'b', false],
    ['[^', 'x', true],
    ['[', '[', false],
    ['[a-', '-', true],
    ['[a-]', ']', true],
    ['[\\]]', ']', true],
    ['[\\]a]', 'a', true],
    ['[a\\]]', 'a', true],
    ['[a\\]b', 'a', true],
    ['[a\\]b', 'ab', false],
    ['[\\a-z]', 'b', false],
    ['[\\^a]', '^', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['\\a', 'a', true],
    ['\\', '\\', true],
    ['a\\', 'a\\', true],
    ['*\\?', 'what?', true],
    ['\xe9?', '\xe9\xff', true],
    ['a\0*', 'a\0b', true],
  ])('%j and %j: %s', (pattern, text, matches) => {
    expect(matchesGlob(pattern, text)).toBe(matches);
  });

  test('agrees with the obvious recursive matcher', () => {
    const words = (letters: string, maxLength: number): fc.Arbitrary<string> =>
      fc.string({ unit: fc.constantFrom(...letters), maxLength, size: 'max' });
    const property = fc.property(
      words('aab***??[]^-\\', 9),
      words('aaab]^-\\*', 7),
      (pattern, text) => {
        expect(matchesGlob(pattern, text)).toBe(matchesByTrying(pattern, text));
      },
    );
    fc.assert(property, { numRuns: 20_000 });
  });

  test('a pattern bomb takes as many looks as pattern times text, at most', () => {
    const text = 'a'.repeat(400);
    const pattern = `${'*a'.repeat(50)}*b`;
    const looks = vi.spyOn(String.prototype, 'charCodeAt');
    try {
      expect(matchesGlob(pattern, text)).toBe(false);
      // Two for each byte that is compared: one into the pattern, one into the text.
      expect(looks.mock.calls.length).toBeGreaterThan(text.length);
      expect(looks.mock.calls.length).toBeLessThan(2 * pattern.length * text.length);
    } finally {
      looks.mockRestore();
    }
  });
});

/** Exponential, and therefore simple: a star is tried with every length. */
function matchesByTrying(pattern: string, text: string): boolean {
  if (text === '') return pattern === '';
  return tried(elements(pattern), text);
}

type Element = '*' | ((byte: string) => boolean);

function tried([first, ...rest]: Element[], text: string): boolean {
  if (first === undefined) return text === '';
  if (first === '*')
    return tried(rest, text) || (text !== '' && tried([first, ...rest], text.slice(1)));
  return text !== '' && first(text[0]!) && tried(rest, text.slice(1));
}

function elements(pattern: string): Element[] {
  const found = /^(\*)|^(\?)|^\[(\^?)((?:\\.|[^\]]-.|[^\]])*)(?:\]|$)|^\\?(.)/s.exec(pattern);
  if (found === null) return [];
  const [whole, star, any, not, members, literal] = found;
  const rest = elements(pattern.slice(whole.length));
  if (star !== undefined) return ['*', ...rest];
  if (any !== undefined) return [() => true, ...rest];
  if (literal !== undefined) return [(byte) => byte === literal, ...rest];
  return [(byte) => isMember(byte, members!) !== (not === '^'), ...rest];
}

function isMember(byte: string, members: string): boolean {
  const found = /^\\(.)|^(.)-(.)|^(.)/s.exec(members);
  if (found === null) return false;
  const [whole, escaped, low = '', high = '', single] = found;
  const inRange = low < high ? byte >= low && byte <= high : byte >= high && byte <= low;
  const matches = low === '' ? byte === (escaped ?? single) : inRange;
  return matches || isMember(byte, members.slice(whole.length));
}
