import { type FSWatcher, watch } from 'node:fs';
import { systemClock } from '../clock/index.ts';

/** Watches a folder for names that are created or removed. */
export class FolderWatch implements Disposable {
  readonly #folder: string;
  #watcher: FSWatcher | undefined;
  #wake = (): void => {};

  constructor(folder: string) {
    this.#folder = folder;
    this.renew();
  }

  /** Watches the folder again after it was created again. */
  renew(): void {
    this[Symbol.dispose]();
    try {
      this.#watcher = watch(this.#folder, { persistent: false }, (event) => {
        if (event === 'rename') this.#wake();
      });
      this.#watcher.on('error', () => {});
    } catch {
      // The system has too many watchers: `change` then resolves by its timeout.
    }
  }

  /** Resolves when a name was created or removed, and after `maxMs` at the latest. */
  change(maxMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = systemClock.setTimer(maxMs, resolve);
      timer.keepAlive(true);
      this.#wake = () => {
        timer.cancel();
        resolve();
      };
    });
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
