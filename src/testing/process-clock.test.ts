import { expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { ProcessClock } from './process-clock.ts';
import { ProcessGate } from './process-gate.ts';

function open() {
  const time = virtualClock();
  const gate = new ProcessGate();
  return { time, gate, clock: new ProcessClock(time, gate) };
}

it('fires timers and deferred callbacks of a frozen process after thaw, in order', () => {
  const { time, gate, clock } = open();
  const fired: string[] = [];
  clock.setTimer(20, () => fired.push('timer'));
  clock.defer(() => fired.push('deferred'));
  gate.freeze();
  time.advance(30);
  expect(fired).toEqual([]);
  expect(clock.monotonicMs()).toBe(30);
  gate.thaw();
  expect(fired).toEqual(['deferred', 'timer']);
});

it('fires no timer that was cancelled after its time, while the process was frozen', () => {
  const { time, gate, clock } = open();
  const timer = clock.setTimer(10, () => expect.unreachable());
  gate.freeze();
  time.advance(10);
  timer.cancel();
  gate.thaw();
});

it('keeps callbacks back when one of them freezes the process again', () => {
  const { time, gate, clock } = open();
  const fired: string[] = [];
  clock.setTimer(1, () => {
    fired.push('first');
    gate.freeze();
  });
  clock.setTimer(2, () => fired.push('second'));
  gate.freeze();
  time.advance(2);
  gate.thaw();
  expect(fired).toEqual(['first']);
  gate.thaw();
  expect(fired).toEqual(['first', 'second']);
});

it('leaves no timer on the clock inside after cancelAll', () => {
  const { time, clock } = open();
  clock.setTimer(10, () => expect.unreachable());
  clock.cancelAll();
  expect(time.pendingTimers).toBe(0);
});
