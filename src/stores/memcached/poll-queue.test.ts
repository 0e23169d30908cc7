import { describe, expect, it } from 'vitest';
import { elapse } from '../../../test/virtual-time.ts';
import { seededRandom, virtualClock } from '../../clock/index.ts';
import type { WaiterEvent } from '../../lock/index.ts';
import { PollQueue } from './poll-queue.ts';

function scene() {
  const clock = virtualClock();
  const queue = new PollQueue(clock, seededRandom(1));
  const events: string[] = [];
  const enter = (owner: string): void =>
    queue.enter('k', owner, { notify: ({ type }: WaiterEvent) => events.push(`${owner} ${type}`) });
  return {
    queue,
    events,
    enter,
    elapse: (ms: number) => elapse(clock, ms),
    take: () => events.splice(0),
  };
}

describe('PollQueue', () => {
  it('lets the first waiter poll, every 25 to 75 ms', async () => {
    const { queue, enter, take, ...time } = scene();
    enter('a');
    enter('b');
    enter('a');
    expect([queue.isFirst('k', 'a'), queue.isFirst('k', 'b'), queue.isFirst('other', 'b')]).toEqual(
      [true, false, true],
    );
    for (let turn = 0; turn < 20; turn++) {
      queue.busy('k');
      await time.elapse(24);
      expect(take()).toEqual([]);
      await time.elapse(52);
      expect(take()).toEqual(['a retry']);
    }
  });

  it('makes the next waiter first when the first one leaves', async () => {
    const { queue, enter, take, ...time } = scene();
    enter('a');
    enter('b');
    expect(queue.isFirst('k', 'a')).toBe(true);
    expect(queue.leave('k', 'a')).toBe(false);
    expect(queue.isFirst('k', 'b')).toBe(true);
    await time.elapse(80);
    expect(take()).toEqual(['b retry']);
  });

  it('returns true when a waiter leaves that has sent nothing', () => {
    const { queue, enter } = scene();
    enter('a');
    enter('b');
    queue.isFirst('k', 'b');
    expect([queue.leave('k', 'b'), queue.leave('k', 'none'), queue.leave('other', 'a')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('notifies the first waiter at once after a release, for 100 ms, and then later', async () => {
    const { queue, enter, take, ...time } = scene();
    enter('a');
    queue.released('k');
    expect(take()).toEqual(['a retry']);
    await time.elapse(101);
    queue.released('k');
    expect(take()).toEqual([]);
    await time.elapse(80);
    expect(take()).toEqual(['a retry']);
    queue.released('k');
    expect(take()).toEqual(['a retry']);
  });

  it('notifies the others when the first one fails, until one succeeds', () => {
    const { queue, enter, take } = scene();
    for (const owner of ['a', 'b', 'c']) enter(owner);
    queue.failed('k', 'b', new Error('not first'));
    expect(take()).toEqual([]);
    queue.failed('k', 'a', new Error('down'));
    expect(take()).toEqual(['b failed', 'c failed']);
    expect(() => queue.isFirst('k', 'b')).toThrow('down');
    queue.busy('k');
    expect(queue.isFirst('k', 'b')).toBe(false);
    queue.failed('k', 'a', new Error('down'));
    queue.leave('k', 'a');
    expect(queue.isFirst('k', 'c')).toBe(false);
  });

  it('notifies no waiter after close', async () => {
    const { queue, enter, take, ...time } = scene();
    enter('a');
    queue.busy('k');
    queue.close();
    await time.elapse(1000);
    queue.released('k');
    expect(take()).toEqual([]);
  });
});
