import { describe, expect, it } from 'vitest';
import { systemClock } from './index.ts';

describe('the system clock', () => {
  it('never fires early, not even by a fraction of a millisecond', async () => {
    for (const delayMs of [0, 0.4, 1.7, 5]) {
      const beganMs = systemClock.monotonicMs();
      // A timer does not keep the process alive; the test's own time-out does.
      await new Promise<void>((resolve) => systemClock.setTimer(delayMs, resolve));
      expect(systemClock.monotonicMs() - beganMs).toBeGreaterThanOrEqual(delayMs);
    }
  });

  it('does not fire a delay of 2^40 ms after one millisecond, as setTimeout would', async () => {
    let fired = false;
    const timer = systemClock.setTimer(2 ** 40, () => {
      fired = true;
    });
    await new Promise<void>((resolve) => systemClock.setTimer(5, resolve));
    timer.cancel();
    expect(fired).toBe(false);
  });
});
