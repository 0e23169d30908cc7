import { describe, expect, it } from 'vitest';
import { seededRandom, systemRandom, virtualClock } from './index.ts';

describe('the virtual clock', () => {
  it('fires timers in order of their deadlines, at their time', () => {
    const clock = virtualClock();
    const fired: [string, number][] = [];
    const note = (name: string) => () => fired.push([name, clock.monotonicMs()]);
    clock.setTimer(20, note('b'));
    clock.setTimer(10, note('a'));
    clock.setTimer(20, note('c'));
    clock.setTimer(21, note('late'));
    clock.advance(20);
    expect(fired).toEqual([
      ['a', 10],
      ['b', 20],
      ['c', 20],
    ]);
    expect(clock.pendingTimers).toBe(1);
  });

  it('fires timers that were set by timers', () => {
    const clock = virtualClock();
    let turns = 0;
    const again = (): void => {
      turns++;
      clock.setTimer(1, again);
    };
    again();
    clock.advance(10);
    expect(turns).toBe(11);
  });

  it('does not fire a cancelled timer, nor count it as pending', () => {
    const clock = virtualClock();
    const timer = clock.setTimer(1, () => expect.unreachable());
    timer.cancel();
    timer.cancel();
    clock.advance(2);
    expect(clock.pendingTimers).toBe(0);
  });

  it('jumpWall moves the wall clock and not the monotonic clock', () => {
    const clock = virtualClock(1000);
    clock.advance(5);
    clock.jumpWall(-300);
    expect([clock.monotonicMs(), clock.wallMs()]).toEqual([5, 705]);
  });
});

describe('random numbers', () => {
  it('repeat for the same seed and differ for another', () => {
    const draw = (seed: number): number[] => {
      const random = seededRandom(seed);
      return [random.next(), random.next(), ...random.bytes(4)];
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });

  it('are at least 0, below 1 and evenly distributed', () => {
    for (const random of [seededRandom(1), systemRandom]) {
      const numbers = Array.from({ length: 1000 }, () => random.next());
      expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
      expect(numbers.filter((number) => number < 0.5).length).toBeGreaterThan(400);
      expect(numbers.filter((number) => number < 0.5).length).toBeLessThan(600);
      expect(random.bytes(16)).toHaveLength(16);
    }
  });
});
