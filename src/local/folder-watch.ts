import { type FSWatcher, watch } from 'node:fs';
import { systemClock } from '../clock/index.ts';

/** Tells when something may have happened in a folder. */
export class FolderWatch implements Disposable {
  readonly #folder: string;
  #watcher: FSWatcher | undefined;
  #wake = (): void => {};

  constructor(folder: string) {
    this.#folder = folder;
    this.renew();
  }

  /** After the folder was made anew. */
  renew(): void {
    this[Symbol.dispose]();
    try {
      this.#watcher = watch(this.#folder, { persistent: false }, (event) => {
        if (event === 'rename') this.#wake();
      });
      this.#watcher.on('error', () => {});
    } catch {
      // There are too many watchers: then everything is seen a little later.
    }
  }

  /** Resolves when a name has come or gone, and after this time at the latest. */
  change(atMostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = systemClock.setTimer(atMostMs, resolve);
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
