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

  it('does not import the package @opentelemetry/api', () => {
    const refuse = `export const resolve = (name, context, next) => {
      if (name.startsWith('@opentelemetry/')) throw new Error('imported ' + name);
      return next(name, context);
    };`;
    const output = run(`
      import { register } from 'node:module';
      register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(refuse)}));
      const { createLocks } = await import(${JSON.stringify(BUILD)});
      await import('@opentelemetry/api').catch(({ message }) => process.stdout.write(message));
      process.on('unhandledRejection', (error) => process.stdout.write(', but ' + error.message));
      const locks = createLocks();
      await new Promise(setImmediate);
      process.stdout.write(await locks.mutex('a').run(() => ', and the lock works'));
      await locks.close();`);
    expect(output).toBe('imported @opentelemetry/api, and the lock works');
  });
});
