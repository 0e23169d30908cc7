import { rmSync } from 'node:fs';

/** Removes a folder in which a local server may create its socket again during the removal. */
export function removeFolder(folder: string): void {
  for (let triesLeft = 1000; ; triesLeft--) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || triesLeft === 0) throw error;
    }
  }
}
