import { describe, expect, it } from 'vitest';
import { ErrorReply } from '../resp/index.ts';
import { formatEventClasses, parseEventClasses } from './notifications.ts';

describe('classes of keyspace events', () => {
  it.each([
    ['', ''],
    ['KEA', 'AKE'],
    ['Knmx$', '$xnKm'],
    ['AKEnmdt', 'AKEm'],
    ['lshzxeg$tdnKEm', 'AKEm'],
    ['xK', 'xK'],
  ])('%s is shown as %s, as Redis does', (letters, shown) => {
    expect(formatEventClasses(parseEventClasses(letters))).toBe(shown);
  });

  it('reject an unknown letter', () => {
    expect(() => parseEventClasses('KEAq')).toThrow(ErrorReply);
  });
});
