import { expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { type WaitLimits, WaitTimeouts } from './wait-timeouts.ts';

const LIMITS: WaitLimits = {
  key: 'a',
  beganMs: 0,
  softMs: 100,
  hardMs: 200,
  signal: undefined,
};
const never = new Promise<never>(() => {});

it('rejects at once with an aborted signal, and after end()', async () => {
  const clock = virtualClock();
  const timeouts = new WaitTimeouts(clock);
  // An unhandled rejection would end the process.
  const failing = (): Promise<never> => Promise.reject(new Error('not handled'));
  const aborted = { ...LIMITS, signal: AbortSignal.abort('enough') };
  await expect(timeouts.wait(failing(), aborted)).rejects.toMatchObject({ cause: 'enough' });
  const waiting = timeouts.wait(never, LIMITS);
  timeouts.end('closed');
  await expect(waiting).rejects.toMatchObject({ code: 'aborted', cause: 'closed' });
  await expect(timeouts.wait(failing(), LIMITS)).rejects.toMatchObject({ cause: 'closed' });
  expect(clock.pendingTimers).toBe(0);
});

it('counts both timeouts from beganMs', async () => {
  const clock = virtualClock();
  clock.advance(150);
  const timeouts = new WaitTimeouts(clock);
  const soft = timeouts.wait(never, { ...LIMITS, beganMs: 60 });
  const hard = timeouts.wait(never, { ...LIMITS, softMs: Number.POSITIVE_INFINITY });
  clock.advance(10);
  expect(await soft).toBe(undefined);
  clock.advance(40);
  await expect(hard).rejects.toMatchObject({ code: 'timeout', key: 'a' });
});
