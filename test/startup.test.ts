import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completion } from '../src/cli/completion.ts';
import type { Io } from '../src/cli/verb.ts';
import { createEngine } from '../src/engine/index.ts';
import { type Server, startServer } from '../src/server/index.ts';
import { ROOT } from './cli-process.ts';

const MAIN = join(ROOT, 'dist', 'cli', 'main.js');
const folder = mkdtempSync(join(tmpdir(), 'holdfast-startup-'));
const hook = join(folder, 'hook.cjs');
/** Prints which files a process has loaded, on stderr when it ends. */
writeFileSync(
  hook,
  `process.on('exit', () => require('node:fs').writeSync(2, JSON.stringify(Object.keys(require.cache))));`,
);

/** A loaded machine may take long for the first script. */
const PATIENT = { 'script-budget-ms': '10000' } as const;

let server: Server;
beforeAll(async () => {
  server = await startServer({ engine: createEngine({ settings: PATIENT }), port: 0 });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function loadedBy(args: readonly string[]): Promise<string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, [
    '--require',
    hook,
    MAIN,
    ...args,
  ]);
  return JSON.parse(stderr).filter((file: string) => file !== hook);
}

/** The bundled files that a short command loads: their number and size decide how long its start takes. */
describe('a command loads only what it needs', () => {
  it.each([
    ['--version', ['--version'], 1, 2_000],
    ['completion', ['completion', 'bash'], 10, 30_000],
    ['cli PING', ['cli', '--store', 'STORE', 'PING'], 20, 80_000],
    ['ls', ['ls', '--store', 'STORE'], 33, 170_000],
    ['run', ['run', 'job', '--store', 'STORE', '--', 'true'], 38, 370_000],
  ])('%s', async (_, args, mostFiles, mostBytes) => {
    const store = `redis://127.0.0.1:${server.port}`;
    const files = await loadedBy(args.map((word) => (word === 'STORE' ? store : word)));
    expect(files.length).toBeGreaterThan(0);
    expect(files.length).toBeLessThanOrEqual(mostFiles);
    expect(files.reduce((sum, file) => sum + statSync(file).size, 0)).toBeLessThan(mostBytes);
  });
});

describe('completion', () => {
  it.each(completion.words as string[])(
    'prints the script for %s that the sources make',
    async (shell) => {
      let made = '';
      const output = { write: (text: string) => (made += text) };
      await completion.run([shell], { output, environment: {} } as unknown as Io);
      const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'completion', shell]);
      expect(made).not.toBe('');
      expect(stdout).toBe(made);
    },
  );
});
