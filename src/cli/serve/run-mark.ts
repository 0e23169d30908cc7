import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { systemClock } from '../../clock/index.ts';

/**
 * A file that exists while a server runs on an address, and afterwards while locks that it granted may still
 * be held. A server that finds one has lost the data of its predecessor: it must not grant those locks again
 * before they have ended.
 */
export class RunMark {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** How long locks of the last server may still be held: at most `graceMs`, 0 if it left no mark. */
  leftMs(graceMs: number): number {
    const text = this.#read();
    if (text === undefined) return 0;
    if (!/^\d+$/.test(text)) return graceMs;
    return Math.min(Math.max(0, Number(text) - systemClock.wallMs()), graceMs);
  }

  /** The server runs: the end of its last lease is unknown. */
  set(): void {
    writeFileSync(this.#path, 'running', { mode: 0o600 });
  }

  /** The server has ended regularly, and its last lease ends after this time. */
  end(leaseMs: number): void {
    if (leaseMs === 0) rmSync(this.#path, { force: true });
    else writeFileSync(this.#path, String(Math.ceil(systemClock.wallMs() + leaseMs)));
  }

  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'latin1');
    } catch {
      return undefined;
    }
  }
}
