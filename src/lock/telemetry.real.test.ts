import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';

describe('telemetry', () => {
  it('works without the package @opentelemetry/api', () => {
    const build = process.env['HOLDFAST_BUILD'] ?? join(import.meta.dirname, '../../dist/index.js');
    const withoutApi = `export const resolve = (name, context, next) => {
      if (name === '@opentelemetry/api') throw new Error('not installed');
      return next(name, context);
    };`;
    const program = `
      import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(withoutApi)}));
      const { createLocks } = await import(${JSON.stringify(pathToFileURL(build).href)});
      await import('@opentelemetry/api').catch(({ message }) => process.stdout.write(message));
      const locks = createLocks();
      await new Promise(setImmediate);
      process.stdout.write(await locks.mutex('a').run(() => ', but it runs'));
      await locks.close();`;
    const args = ['--input-type=module', '--eval', program];
    const output = execFileSync(process.execPath, args, { encoding: 'utf8' });
    expect(output).toBe('not installed, but it runs');
  });
});
