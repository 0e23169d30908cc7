import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** The first opens a page in half the time that the others take. */
const PROGRAMS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

/** The browser of this machine, without a window. */
export function startBrowser(): Promise<Browser> {
  const executablePath = PROGRAMS.map(onPath).find((path) => path !== undefined);
  if (executablePath === undefined) {
    throw new Error(
      `No browser is on the PATH (${PROGRAMS.join(', ')}). Install one: on Debian or Ubuntu by sudo apt-get install -y chromium-headless-shell`,
    );
  }
  // Root, as which containers run tests, may not have Chromium's own sandbox.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
}

function onPath(program: string): string | undefined {
  const paths = (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, program));
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
