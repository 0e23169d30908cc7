import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { VERBS } from '../src/cli/dispatch.ts';
import { VARIABLES } from '../src/cli/man.ts';
import { ROOT } from './cli-process.ts';

const file = join(ROOT, 'man', 'holdfast.1');

/** What a program says of the page; undefined where it is not installed. */
function verdict(program: string, ...args: string[]): string | undefined {
  const { error, stdout, stderr } = spawnSync(program, [...args, file], { encoding: 'utf8' });
  return error === undefined ? stdout + stderr : undefined;
}

describe('the manual page', () => {
  it('is generated from the built verbs', () => {
    execFileSync(process.execPath, [join(ROOT, 'man', 'generate.js'), '--check'], {
      stdio: 'pipe',
    });
  });

  it('has every verb, every option and every variable', async () => {
    const page = readFileSync(file, 'utf8').replaceAll('\\-', '-');
    for (const name of Object.keys(VARIABLES)) expect(page).toContain(`.B ${name}\n`);
    for (const [word, { load }] of VERBS) {
      expect(page).toContain(`.SH "HOLDFAST ${word.toUpperCase()}"`);
      for (const name of Object.keys((await load()).options ?? {})) {
        expect(page, word).toMatch(new RegExp(`--${name}(?![\\w-])`));
      }
    }
  });

  // Both are asked where they are installed; a machine without them reads no manual pages.
  it('has nothing that a formatter complains about', () => {
    expect(verdict('groff', '-man', '-ww', '-z', '-Tutf8') ?? '').toBe('');
    const complaints = (verdict('mandoc', '-Tlint', '-Wwarning') ?? '').split('\n');
    // It has no date: the version says which page this is.
    expect(complaints.filter((line) => line !== '' && !line.includes('missing date'))).toEqual([]);
  });
});
