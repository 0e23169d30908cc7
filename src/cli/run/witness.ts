import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock } from '../../clock/index.ts';

/**
 * Tells what it gets. A signal wakes it out of `read`, which the end of its stdin does too: it ends when
 * there was no signal.
 */
const SCRIPT = `
for signal in INT QUIT TSTP; do trap "echo SIG$signal; got=1" "$signal"; done
echo ready
while got= && { read -r line || [ -n "$got" ]; }; do :; done
`;

/** How far apart two processes can be that get the same signal. */
const APART_MS = 500;

/**
 * A process in the runner's group, which gets what the terminal sends to all of it. Signals do not say
 * who sent them; but what the runner got and the witness did not was meant for the runner alone.
 */
export class Witness implements Disposable {
  readonly #shell: ChildProcess;
  readonly #clock: Clock;
  readonly #seenMs = new Map<string, number>();
  readonly #onSeen = new Set<() => void>();
  #isThere = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'holdfast-witness'], {
      cwd: '/',
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#shell.on('error', () => {});
    this.#shell.on('exit', () => this.#left());
    this.#shell.stdin?.on('error', () => {});
    this.#shell.stdout?.setEncoding('latin1').on('data', (text: string) => this.#hear(text));
    this.#shell.unref();
  }

  /** Whether the whole group got this signal, just now. If there is no witness, it is taken to be so. */
  saw(signal: NodeJS.Signals): Promise<boolean> {
    return new Promise((resolve) => {
      const look = (isLate: boolean): void => {
        const sinceMs = this.#clock.monotonicMs() - (this.#seenMs.get(signal) ?? -Infinity);
        const wasSeen = !this.#isThere || sinceMs <= APART_MS;
        if (!wasSeen && !isLate) return;
        timer.cancel();
        this.#onSeen.delete(again);
        resolve(wasSeen);
      };
      const again = (): void => look(false);
      const timer = this.#clock.setTimer(APART_MS, () => look(true));
      this.#onSeen.add(again);
      again();
    });
  }

  [Symbol.dispose](): void {
    this.#shell.kill('SIGKILL');
    this.#shell.stdin?.destroy();
    this.#shell.stdout?.destroy();
  }

  #hear(text: string): void {
    this.#isThere = true;
    for (const word of text.split('\n')) this.#seenMs.set(word, this.#clock.monotonicMs());
    this.#tell();
  }

  #left(): void {
    this.#isThere = false;
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#onSeen]) listener();
  }
}
