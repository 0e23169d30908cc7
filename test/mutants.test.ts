import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from './cli-process.ts';
import { contentSeed } from './content-seed.ts';
import { withinMs } from './within.ts';

const runFile = promisify(execFile);
const COUNT = 2;
/** What mutants are planted in, and what says how. */
const SOURCES = [
  'src/lock',
  'src/stores',
  'src/client',
  'src/engine/exit-commands.ts',
  'src/engine/acl',
  'src/page',
  'scripts/mutants.js',
  'scripts/mutants',
];

/** The same commit plants the same mutants, a change plants others; `HOLDFAST_MUTANTS_SEED` chooses by hand. */
const seed = process.env['HOLDFAST_MUTANTS_SEED'] ?? contentSeed(ROOT, SOURCES);

/** What was printed, whether or not it went well. */
async function mutants(...args: string[]): Promise<{ code: number; output: string }> {
  const script = join(ROOT, 'scripts', 'mutants.js');
  try {
    const { stdout } = await runFile(process.execPath, [script, ...args]);
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

describe('planted bugs', () => {
  it('can all still be planted', async () => {
    const { code, output } = await mutants('--list');
    expect(output).toMatch(/^\d+ mutants can be planted$/m);
    expect(code).toBe(0);
  });

  it(`are caught: ${COUNT} of them, from seed ${seed}`, {
    timeout: withinMs(300_000),
  }, async ({ annotate }) => {
    const { code, output } = await mutants('--count', String(COUNT), '--seed', seed);
    await annotate(output);
    expect(output).toContain(`${COUNT} mutants, from seed ${seed}\n`);
    expect(output).not.toMatch(/^SURVIVED/m);
    expect(output).toMatch(/^caught .*\n +(?:the lab|\S+\.test\.ts): /m);
    expect(code).toBe(0);
  });

  it.each([
    [['--seed', 'monday'], '--seed must be a whole number from 0 on, but is "monday"\n'],
    [['--count', '0'], '--count must be a whole number from 1 on, but is "0"\n'],
  ])('are refused with %j', async (args, message) => {
    expect(await mutants('--list', ...args)).toEqual({ code: 1, output: message });
  });

  it('have names', async () => {
    const { code, output } = await mutants('--list', 'no such mutant');
    expect(output).toBe('no mutant has "no such mutant" in its name\n');
    expect(code).toBe(1);
  });
});

describe('the seed of a content', () => {
  function newFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-seed-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'src/inner'), { recursive: true });
    writeFileSync(join(folder, 'src/one.ts'), 'one');
    writeFileSync(join(folder, 'src/inner/two.ts'), 'two');
    writeFileSync(join(folder, 'script.js'), 'script');
    return folder;
  }
  const seedOf = (folder: string): string => contentSeed(folder, ['src', 'script.js']);

  it('is the same for the same files in another folder', () => {
    expect(seedOf(newFolder())).toBe(seedOf(newFolder()));
    expect(seedOf(newFolder())).toMatch(/^\d+$/);
  });

  it.each([
    ['a file changes', 'src/inner/two.ts'],
    ['a file is added', 'src/inner/three.ts'],
    ['a file that is named itself changes', 'script.js'],
  ])('is another one when %s', (_, path) => {
    const folder = newFolder();
    const before = seedOf(folder);
    writeFileSync(join(folder, path), 'changed');
    expect(seedOf(folder)).not.toBe(before);
  });

  it('is another one when a file is renamed', () => {
    const folder = newFolder();
    const before = seedOf(folder);
    renameSync(join(folder, 'src/one.ts'), join(folder, 'src/renamed.ts'));
    expect(seedOf(folder)).not.toBe(before);
  });

  it('is the same when only a test changes', () => {
    const folder = newFolder();
    const before = seedOf(folder);
    writeFileSync(join(folder, 'src/one.test.ts'), 'a test');
    expect(seedOf(folder)).toBe(before);
  });
});
