import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../../clock/index.ts';

/** Prints the signals it receives. Both a signal and the end of stdin end `read`: without a signal the script exits. */
const SCRIPT = `
for signal in INT QUIT TSTP; do trap "echo SIG$signal; got=1" "$signal"; done
echo ready
while got= && { read -r line || [ -n "$got" ]; }; do :; done
`;

/** Maximum delay between two processes that receive the same signal. */
const APART_MS = 500;

/**
 * A process in the group of the runner: it receives the signals that the terminal sends to the whole group. A signal
 * does not carry its sender in Node; but one that the runner received and the witness did not was sent to the runner
 * alone.
 */
export class Witness implements Disposable {
  readonly #shell: ChildProcess;
  readonly #clock: Clock;
  readonly #seenMs = new Map<string, number>();
  readonly #onSeen = new Set<() => void>();
  #isRunning = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'holdfast-witness'], {
      cwd: '/',
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#shell.on('error', () => {});
    this.#shell.on('exit', () => this.#exited());
    this.#shell.stdin?.on('error', () => {});
    this.#shell.stdout?.setEncoding('latin1').on('data', (text: string) => this.#receive(text));
    this.#shell.unref();
  }

  /** Whether the whole group received this signal just now. True if the witness does not run. */
  saw(signal: NodeJS.Signals): Promise<boolean> {
    return new Promise((resolve) => {
      const check = (isLate: boolean): void => {
        const sinceMs = this.#clock.monotonicMs() - (this.#seenMs.get(signal) ?? -Infinity);
        const wasSeen = !this.#isRunning || sinceMs <= APART_MS;
        if (!wasSeen && !isLate) return;
        timer.cancel();
        this.#onSeen.delete(again);
        resolve(wasSeen);
      };
      const again = (): void => check(false);
      const timer = this.#clock.setTimer(APART_MS, () => check(true));
      this.#onSeen.add(again);
      again();
    });
  }

  [Symbol.dispose](): void {
    this.#shell.kill('SIGKILL');
    this.#shell.stdin?.destroy();
    this.#shell.stdout?.destroy();
  }

  #receive(text: string): void {
    this.#isRunning = true;
    for (const word of text.split('\n')) this.#seenMs.set(word, this.#clock.monotonicMs());
    this.#notify();
  }

  #exited(): void {
    this.#isRunning = false;
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#onSeen]) listener();
  }
}
