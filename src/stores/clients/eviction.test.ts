import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { warnOfEviction } from './eviction.ts';

describe('warnOfEviction', () => {
  it.each([
    ['noeviction', 'maxmemory:0\r\nmaxmemory_policy:noeviction\r\n'],
    ['a server that does not name its policy', '# Memory\r\nused_memory:1\r\n'],
    ['no text', undefined],
  ])('is silent about %s', (_name, memory) => {
    expect(warningsOf(memory)).toEqual([]);
  });

  it.each(['allkeys-lru', 'volatile-ttl'])('warns of %s, and names the policy to set', (policy) => {
    const [warning] = warningsOf(`maxmemory:100\r\nmaxmemory_policy:${policy}\r\n`);
    expect(warning).toEqual([
      expect.stringMatching(new RegExp(`${policy}.*deletes locks.*noeviction`, 's')),
      { type: 'HoldfastWarning', code: 'HOLDFAST_EVICTION' },
    ]);
  });
});

function warningsOf(memory: unknown): unknown[][] {
  const emitted = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => emitted.mockRestore());
  warnOfEviction(memory);
  return emitted.mock.calls;
}
