import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { globFilter, matchesGlob } from './glob.ts';

describe('matchesGlob', () => {
  // The replies of redis-server 7.0.15 to PUBSUB CHANNELS, with a channel of that name.
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

  test('gives the results of a recursive matcher', () => {
    const words = (letters: string, maxLength: number): fc.Arbitrary<string> =>
      fc.string({ unit: fc.constantFrom(...letters), maxLength, size: 'max' });
    const property = fc.property(
      words('aab***??[]^-\\', 9),
      words('aaab]^-\\*', 7),
      (pattern, text) => {
        expect(matchesGlob(pattern, text)).toBe(matchesRecursively(pattern, text));
      },
    );
    fc.assert(property, { numRuns: 20_000 });
  });

  test('a pattern bomb takes at most pattern times text steps', () => {
    const text = 'a'.repeat(400);
    const pattern = `${'*a'.repeat(50)}*?b`;
    const budget = { steps: 1_000_000 };
    expect(matchesGlob(pattern, text, budget)).toBe(false);
    expect(1_000_000 - budget.steps).toBeLessThan(pattern.length * text.length);
  });

  test('takes no step after a star at the end of the pattern', () => {
    const budget = { steps: 0 };
    expect(matchesGlob('lock:*', `lock:${'a'.repeat(10_000)}`, budget)).toBe(true);
    expect(budget.steps).toBe(0);
  });

  test('takes no step for the bytes between a star and the next literal', () => {
    const budget = { steps: 0 };
    expect(matchesGlob('lock:*b', `lock:${'a'.repeat(10_000)}b`, budget)).toBe(true);
    expect(matchesGlob('lock:*bc', `lock:${'a'.repeat(10_000)}`, budget)).toBe(false);
    expect(budget.steps).toBe(0);
  });

  test('charges a budget only for the steps beyond the first 1024 of a text', () => {
    const budget = { steps: 1_000_000 };
    expect(matchesGlob('a*b', `a${'a'.repeat(500)}b`, budget)).toBe(true);
    expect(budget.steps).toBe(1_000_000);
    expect(matchesGlob(`*${'a'.repeat(100)}b`, 'a'.repeat(500), budget)).toBe(false);
    expect(budget.steps).toBeLessThan(1_000_000 - 400 * 100 + 1024);
    expect(budget.steps).toBeGreaterThan(900_000);
  });

  test('does not match beyond the free steps once the budget is used up', () => {
    const budget = { steps: 100 };
    const text = 'a'.repeat(2000);
    expect(matchesGlob(`*${'a'.repeat(100)}b*`, `${text}b`, budget)).toBe(false);
    expect(budget.steps).toBe(-1);
    expect(matchesGlob('a*', text, budget)).toBe(true);
    expect(matchesGlob(`*${'a'.repeat(100)}b*`, `${text}b`)).toBe(true);
  });
});

describe('globFilter', () => {
  test('rejects a pattern of more than 1024 bytes', () => {
    expect(globFilter('a'.repeat(1024))('b')).toBe(false);
    expect(() => globFilter('a'.repeat(1025))).toThrow(
      'ERR pattern is too long (1024 bytes at most)',
    );
  });

  test('throws when one pattern takes too many steps over all texts', () => {
    const fits = globFilter(`*${'a'.repeat(1000)}b`);
    const text = 'a'.repeat(20_000);
    expect(fits(text)).toBe(false);
    expect(() => fits(text)).toThrow('ERR pattern takes too long to match');
  });
});

/** A simple recursive matcher, which tries a star with every length in exponential time. */
function matchesRecursively(pattern: string, text: string): boolean {
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
