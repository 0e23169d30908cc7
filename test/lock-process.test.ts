import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const root = new URL('..', import.meta.url);

/** Runs a program that uses the built library; resolves when it ends by itself. */
async function program(body: string): Promise<string> {
  const text = `import { createLocks, LockTimeoutError } from './dist/index.js'; ${body}`;
  const args = ['--input-type=module', '--eval', text];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: root,
    timeout: 20_000,
  });
  return stdout.trim();
}

describe('a program', () => {
  it('ends by itself, with or without holding a lock, and without closing', async () => {
    expect(
      await program(`await createLocks().mutex('a').acquire(); process.stdout.write('done')`),
    ).toBe('done');
    expect(
      await program(`
        const locks = createLocks();
        await locks.mutex('a').run(() => locks.semaphore('s', 3).run(() => {}));
        const held = await locks.mutex('b').acquire();
        const waiting = locks.mutex('b').acquire({ wait: '1h' });
        await held.release();
        await (await waiting).release();
        process.stdout.write('done')`),
    ).toBe('done');
  });

  it('lives for as long as it waits for a lock', async () => {
    expect(
      await program(`
        const locks = createLocks();
        await locks.mutex('a').acquire();
        try { await locks.mutex('a').acquire({ wait: 200 }) }
        catch (error) { process.stdout.write([error instanceof LockTimeoutError, error.code].join(' ')) }`),
    ).toBe('true timeout');
  });
});
