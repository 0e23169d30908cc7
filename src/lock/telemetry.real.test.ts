import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..', '..');
const BUILD = pathToFileURL(process.env['HOLDFAST_BUILD'] ?? join(ROOT, 'dist', 'index.js')).href;

/** Runs a program that uses the built package, and returns its output. */
function run(program: string): string {
  const args = ['--input-type=module', '--eval', program];
  return execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
}

const SDK = `
  import { trace } from '@opentelemetry/api';
  import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
  import { createLocks } from ${JSON.stringify(BUILD)};
  const spans = new InMemorySpanExporter();
  const register = () =>
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));
  const print = () => process.stdout.write(spans.getFinishedSpans().map(({ name }) => name).join());`;

describe('telemetry', () => {
  it('reports the first lock of a process', () => {
    const output = run(`${SDK}
      register();
      const locks = createLocks();
      await locks.mutex('a').run(() => {});
      print();
      await locks.close();`);
    expect(output).toBe('holdfast acquire,holdfast hold');
  });

  it('reports locks that are created in the same turn before the SDK is registered', () => {
    const output = run(`${SDK}
      const locks = createLocks();
      register();
      await null;
      await locks.mutex('a').run(() => {});
      print();
      await locks.close();`);
    expect(output).toBe('holdfast acquire,holdfast hold');
  });

  it('reports nothing with telemetry: false', () => {
    const output = run(`${SDK}
      register();
      const locks = createLocks({ telemetry: false });
      await locks.mutex('a').run(() => {});
      print();
      await locks.close();`);
    expect(output).toBe('');
  });

  it('lets locks work without the package @opentelemetry/api', () => {
    const output = run(`
      import Module from 'node:module';
      const { _resolveFilename: resolve } = Module;
      Module._resolveFilename = (name, ...rest) => {
        if (name.startsWith('@opentelemetry/')) throw new Error('not installed');
        return resolve(name, ...rest);
      };
      const { createLocks } = await import(${JSON.stringify(BUILD)});
      const locks = createLocks();
      process.stdout.write(await locks.mutex('a').run(() => 'the lock works'));
      await locks.close();`);
    expect(output).toBe('the lock works');
  });
});
