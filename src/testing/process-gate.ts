/**
 * Whether a fake process runs. Everything that would reach its code (a timer, a reply, a message) passes here:
 * at once while it runs, after `thaw()` while it is frozen, never once it was killed.
 */
export class ProcessGate {
  #state: 'running' | 'frozen' | 'killed' = 'running';
  #held: (() => void)[] = [];

  get isKilled(): boolean {
    return this.#state === 'killed';
  }

  pass(callback: () => void): void {
    if (this.#state === 'running') callback();
    else if (this.#state === 'frozen') this.#held.push(callback);
  }

  /** Resolves when the process runs. */
  passed(): Promise<void> {
    return new Promise((resolve) => this.pass(resolve));
  }

  freeze(): void {
    this.#state = 'frozen';
  }

  thaw(): void {
    this.#state = 'running';
    const held = this.#held;
    this.#held = [];
    for (const callback of held) this.pass(callback);
  }

  kill(): void {
    this.#state = 'killed';
  }
}
