import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHECKS, RECIPES, replay, SCENARIOS } from '../src/lab/index.ts';
import { SIGNS } from '../src/lab/library/option.ts';
import { ROOT, runCli } from './cli-process.ts';
import { BUILD } from './lock-holder-process.ts';

const text = readFileSync(join(ROOT, 'docs', 'lab.md'), 'utf8');
/** The cells of a table, by the head of its first column. */
function tableOf(head: string): string[][] {
  const [, table] = new RegExp(`^\\| ${head} \\|.*\\n\\|[ |-]+\\n((?:\\|.*\\n)+)`, 'm').exec(text)!;
  const rows = table!.matchAll(/^\| (.*) \|$/gm);
  return [...rows].map(([, row]) => row!.split(' | ').map((cell) => cell.replaceAll('`', '')));
}

/** The names of the first column, of which a row may have several. */
function namesOf(head: string): string[] {
  return tableOf(head).flatMap(([names]) => names!.split(', '));
}

describe('the table of the gallery', () => {
  const gallery = tableOf('recipe \\| variant');

  it('lists every variant in which a check fails', () => {
    const expected = RECIPES.flatMap(({ name, variants }) =>
      variants
        .filter(({ shows }) => shows !== undefined)
        .map((each) => [name, each.name, each.shows]),
    );
    expect(gallery.map((row) => row.slice(0, 3))).toEqual(expected);
  });

  it.each(gallery)('%s %s: %s after %s', (recipe, variant, check, schedule) => {
    const { violations, trace, variant: found } = replay(recipe!, schedule!, { variant: variant! });
    const step = violations.find((each) => each.check === check)?.step;
    // A scene may continue after the failure.
    if (found.scene === undefined) expect(step).toBe(trace.length);
    else expect(step).toBeLessThanOrEqual(trace.length);
    expect(schedule).toBe(found.scene ?? schedule);
  });
});

describe('the page on the lab', () => {
  it('lists every check in order', () => {
    expect(namesOf('check')).toEqual(CHECKS.map(({ name }) => name));
  });

  it('lists every scenario of the library', () => {
    expect(namesOf('scenario').sort()).toEqual(SCENARIOS.map(({ name }) => name).sort());
  });

  it('lists every sign of a schedule of the library', () => {
    expect(namesOf('sign').sort()).toEqual(Object.keys(SIGNS).sort());
  });

  it('shows the diagram that the command line draws', async () => {
    const { output } = await runCli(['lab', 'replay', 'set-nx-ex-del', 'a.aza.bwaa']);
    const [, drawn] = /^```\n( {9}A {3}B .*?)^```$/ms.exec(text)!;
    expect(Buffer.from(output, 'latin1').toString('utf8')).toContain(drawn!);
  });
});

describe('the example test in docs/lab.md', () => {
  const [, code] = /^```js\n(.*?)^```$/ms.exec(text)!;
  const consumer = mkdtempSync(join(tmpdir(), 'holdfast-lab-consumer-'));

  beforeAll(() => {
    const modules = join(consumer, 'node_modules');
    mkdirSync(join(modules, 'holdfast'), { recursive: true });
    symlinkSync(dirname(fileURLToPath(BUILD)), join(modules, 'holdfast', 'dist'), 'dir');
    cpSync(join(ROOT, 'package.json'), join(modules, 'holdfast', 'package.json'));
    symlinkSync(join(ROOT, 'node_modules', 'vitest'), join(modules, 'vitest'), 'dir');
  });
  afterAll(() => rmSync(consumer, { recursive: true }));

  function runTest(file: string, source: string, ...args: string[]): string {
    writeFileSync(join(consumer, file), source);
    // A test that runs inside of another must not report to it.
    const { NODE_TEST_CONTEXT, VITEST, ...env } = process.env;
    return execFileSync(process.execPath, args, {
      cwd: consumer,
      encoding: 'utf8',
      env,
      stdio: 'pipe',
    });
  }

  const nodeTest = (source: string): string =>
    runTest('lock.test.mjs', source, '--test', '--test-reporter=tap', 'lock.test.mjs');

  it('runs under node:test, and fails when the recipe is wrong', () => {
    expect(nodeTest(code!)).toContain('\n# pass 1\n# fail 0\n');
    const wrong = code!.replace(/yield\* command`EVAL .*`\)/, 'yield* command`DEL job`)');
    expect(wrong).not.toBe(code);
    expect(() => nodeTest(wrong)).toThrow();
  });

  it('runs under Vitest', () => {
    const source = code!.replace("from 'node:test'", "from 'vitest'");
    const program = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
    const output = runTest(
      'lock.vitest.test.mjs',
      source,
      program,
      'run',
      'vitest.test',
      '--root',
      consumer,
    );
    expect(output.replaceAll(/\x1b\[\d+m/g, '')).toMatch(/Tests +1 passed \(1\)/);
  });
});
