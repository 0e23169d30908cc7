import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { HOLDFAST_VERSION } from './version.ts';

it('the version is that of the package', () => {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  expect(HOLDFAST_VERSION).toBe(JSON.parse(text).version);
});
