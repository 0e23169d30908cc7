import { describe, expect, it } from 'vitest';
import { slotOf } from './slot.ts';

// The slots are replies of CLUSTER KEYSLOT. test/redis-cluster.test.ts compares many more.
describe('slotOf', () => {
  it.each([
    ['123456789', 0x31c3],
    ['', 0],
    ['lock:{user1000}:state', 3443],
    ['{user1000}.following', 3443],
    ['foo{}{bar}', 8363],
    ['foo{{bar}}zap', 4015],
    ['foo{bar}{zap}', 5061],
    ['}foo{', 8453],
    ['锁', 11046],
  ])('of %s is %d', (key, slot) => {
    expect(slotOf(key)).toBe(slot);
  });
});
