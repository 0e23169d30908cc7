import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from './cli-run.ts';

const runFile = promisify(execFile);
/** Longer on a slow machine: the last mutant that was begun is seen to its end. */
const SECONDS = 10;
const MS_A_DAY = 86_400_000;

/** Other mutants every day; `HOLDFAST_MUTANTS_SEED` has those of another. */
const seed = process.env['HOLDFAST_MUTANTS_SEED'] ?? String(dayOfYear(new Date()));

function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / MS_A_DAY) + 1;
}

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

  it(`are caught: some of them, from seed ${seed}`, { timeout: 180_000 }, async ({ annotate }) => {
    const { code, output } = await mutants('--seconds', String(SECONDS), '--seed', seed);
    await annotate(output);
    expect(output).not.toMatch(/^SURVIVED/m);
    expect(output).toMatch(/^caught .*\n +(?:the lab|\S+\.test\.ts): /m);
    expect(code).toBe(0);
  });

  it('have names', async () => {
    const { code, output } = await mutants('--list', 'no such mutant');
    expect(output).toBe('no mutant has "no such mutant" in its name\n');
    expect(code).toBe(1);
  });
});
