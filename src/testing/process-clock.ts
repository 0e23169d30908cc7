import type { Clock, Timer } from '../clock/index.ts';
import type { ProcessGate } from './process-gate.ts';

/** The clock of a fake process: time passes as on the clock inside, but timers fire only while the process runs. */
export class ProcessClock implements Clock {
  readonly #clock: Clock;
  readonly #gate: ProcessGate;
  readonly #timers = new Set<Timer>();

  constructor(clock: Clock, gate: ProcessGate) {
    this.#clock = clock;
    this.#gate = gate;
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs();
  }

  wallMs(): number {
    return this.#clock.wallMs();
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    // Only a test that closes the locks of a killed process comes here, and waits for it to end.
    if (this.#gate.isKilled) return this.#clock.setTimer(delayMs, callback);
    // A timer that fires while the process is frozen can still be cancelled: it waits at the gate.
    let isCancelled = false;
    const inside = this.#clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      this.#gate.pass(() => {
        if (!isCancelled) callback();
      });
    });
    const timer: Timer = {
      cancel: () => {
        isCancelled = true;
        this.#timers.delete(timer);
        inside.cancel();
      },
      keepAlive: (isNeeded) => inside.keepAlive(isNeeded),
    };
    this.#timers.add(timer);
    return timer;
  }

  defer(callback: () => void): void {
    this.#clock.defer(() => this.#gate.pass(callback));
  }

  cancelAll(): void {
    for (const timer of [...this.#timers]) timer.cancel();
  }
}
