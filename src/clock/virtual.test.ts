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

  it('runs the promises that a timer resolves before the next timer fires, in advanceAsync', async () => {
    const clock = virtualClock();
    const order: string[] = [];
    const step = async (name: string): Promise<void> => {
      await Promise.resolve();
      order.push(`${name} at ${clock.monotonicMs()}`);
    };
    clock.setTimer(10, () => void step('a'));
    clock.setTimer(20, () => void step('b').then(() => clock.setTimer(5, () => void step('c'))));
    clock.setTimer(31, () => expect.unreachable());
    await clock.advanceAsync(30);
    expect(order).toEqual(['a at 10', 'b at 20', 'c at 25']);
    expect(clock.monotonicMs()).toBe(30);
  });

  it('runs the promises of the caller before its first timer fires, in advanceAsync', async () => {
    const clock = virtualClock();
    let isFired = false;
    void Promise.resolve().then(() => clock.setTimer(5, () => (isFired = true)));
    await clock.advanceAsync(5);
    expect(isFired).toBe(true);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '10s'])(
    'refuses to advance by %s',
    async (by) => {
      const clock = virtualClock();
      const message = `the virtual clock advances by milliseconds from 0 on, such as 10_000; got ${by}`;
      expect(() => clock.advance(by as number)).toThrow(message);
      await expect(clock.advanceAsync(by as number)).rejects.toThrow(message);
      expect(clock.monotonicMs()).toBe(0);
    },
  );

  it('forgets a cancelled timer', () => {
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
