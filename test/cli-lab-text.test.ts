import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT, runCli } from './cli-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-text-'));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function lab(...args: string[]) {
  const { code, output, errors } = await runCli(['lab', ...args]);
  const [out, err] = [output, errors].map((text) => Buffer.from(text, 'latin1').toString('utf8'));
  return { code, output: out!, errors: err! };
}

/** The example of docs/lab.md, and its output there. */
const page = readFileSync(join(ROOT, 'docs', 'lab.md'), 'utf8');
const [, example, printed] =
  /^## A recipe as plain text$.*?^```text\n(.*?)^```$.*?^```\n(\$ holdfast lab run .*?)^```$/ms.exec(
    page,
  )!;

describe('a recipe in a file', () => {
  let path: string;
  beforeAll(() => {
    path = write('my-recipe.txt', example!);
  });

  it('is searched and drawn as docs/lab.md shows it', async () => {
    const [command, ...lines] = printed!.trimEnd().split('\n');
    const args = command!.replace('./my-recipe.txt', path).split(' ').slice(3);
    const { code, output, errors } = await lab(...args);
    expect([code, errors]).toEqual([3, '']);
    const shown = lines.filter((line) => line !== '…');
    expect(shown.length).toBeGreaterThan(4);
    expect(output.replaceAll(path, './my-recipe.txt').split('\n')).toEqual(
      expect.arrayContaining(shown),
    );
  });

  it('is replayed by the command that the search prints', async () => {
    const { output } = await lab('run', path, '--clients', '2');
    const [, schedule] = /^holdfast lab replay \S+ (\S+) --clients 2$/m.exec(output)!;
    const replayed = await lab('replay', path, schedule!, '--clients', '2');
    expect(replayed.code).toBe(3);
    expect(replayed.output).toMatch(/^✗ Step \d+: /m);
  });

  it('is named in JSON by its path', async () => {
    const { output } = await lab('run', path, '--clients', '2', '--json');
    expect(JSON.parse(output)).toMatchObject({ recipe: path, isExpected: false });
  });

  it('exits with 0 when no check fails', async () => {
    const right = write('right.txt', example!.replace(/^unless GET lock.*?^DEL lock$/ms, RELEASE));
    const { code, output } = await lab('run', right, '--clients', '2', '--pauses', '0');
    expect(output).not.toContain('✗');
    expect(code).toBe(0);
  });
  const RELEASE =
    "EVAL <release> 1 lock token\nscript <release>\nif redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end\nreturn 0";

  it('quotes a path with spaces in the command that it prints', async () => {
    const odd = write("o'd d.txt", example!);
    const { output } = await lab('run', odd, '--clients', '2');
    const [, word] = /^holdfast lab replay (.*) \S+ --clients 2$/m.exec(output)!;
    expect(execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' })).toBe(odd);
  });
});

describe('the output for a recipe in a file', () => {
  it('has no control characters, whatever the script stores', async () => {
    const script = `redis.call('set', 'lock\\27', '\\27[31m\\155')\nreturn redis.status_reply('\\27]0;x')`;
    const path = write(
      'escapes.txt',
      `EVAL <x> 0\nGET lock\nhold lock\n    work\nscript <x>\n${script}`,
    );
    for (const args of [[], ['--json']]) {
      const { output } = await lab('replay', path, 'aa.a', '--clients', '1', ...args);
      expect(output).toMatch(/\\(x1b|u001b)\[31m\\u009b/);
      expect(output).not.toMatch(/(?!\n)\p{Cc}/u);
    }
    const { output } = await lab('run', path, '--json');
    expect(output).not.toMatch(/(?!\n)\p{Cc}/u);
  });

  it('names a check that fails before the first step, and the command that replays it', async () => {
    const path = write(
      'ticket.txt',
      'ticket = INCR next\nuntil GET serving gives ticket\n    sleep 1 s\nhold serving\n    work\nINCR serving',
    );
    const { output } = await lab('run', path, '--clients', '1', '--pauses', '0');
    expect(output).toContain('✗ Step 0: no more faults from here on, yet A still waits');
    const [, command] = /^holdfast lab (replay .*)$/m.exec(output)!;
    expect(command).toBe(`replay ${path} '' --clients 1 --pauses 0`);
    const replayed = await lab('replay', path, '', '--clients', '1', '--pauses', '0');
    expect(replayed.code).toBe(3);
    expect(replayed.output).toMatch(/^✗ Step 0: no more faults from here on, yet A still waits/);
    expect(replayed.output).toContain('Next could be: a xa');
  });
});

describe('a wrong recipe file', () => {
  it.each([
    ['missing', () => join(folder, 'none.txt'), /^holdfast: There is no file \S+none\.txt\./],
    ['a folder', () => `${folder}/`, /^holdfast: \S+ is a folder: name the file/],
    [
      'in no folder',
      () => join(write('file', ''), 'recipe.txt'),
      /^holdfast: \S+ cannot be read \(ENOTDIR\)\./,
    ],
    [
      'empty',
      () => write('empty.txt', ''),
      /^holdfast: \S+empty\.txt has no statement\. Write how/,
    ],
    [
      'binary',
      () => write('binary.txt', Uint8Array.of(0xff, 0, 1)),
      /^holdfast: \S+ is not plain text in UTF-8/,
    ],
    [
      'huge',
      () => write('huge.txt', 'DEL lock\n'.repeat(10_000)),
      /^holdfast: \S+ is larger than 65536 bytes/,
    ],
    ['endless', () => '/dev/zero', /^holdfast: \/dev\/zero is larger than 65536 bytes/],
    [
      'JavaScript',
      () => write('recipe.mjs', ''),
      /^holdfast: \S+ a recipe in JavaScript is run by explore\(\)/,
    ],
    [
      'wrong',
      () => write('wrong.txt', 'hold lock\n    wrok'),
      /^holdfast: Line 2, column 5 of \S+: "wrok" is not a statement; did you mean "work"\?/,
    ],
    [
      'endless in its loop',
      () => write('loop.txt', 'repeat\n    x = 1\nhold lock\n    work'),
      /^holdfast: Line \d, column \d of \S+: this loop never ends/,
    ],
    [
      'a command that is not steady',
      () => write('keys.txt', 'KEYS lock\nhold lock\n    work'),
      /^holdfast: \S+ cannot run KEYS lock: /,
    ],
  ])('is refused with exit code 2: %s', async (_, make, message) => {
    for (const args of [
      ['run', make()],
      ['replay', make(), 'a'],
    ]) {
      const { code, output, errors } = await lab(...args);
      expect({ code, output }).toEqual({ code: 2, output: '' });
      expect(errors).toMatch(message);
    }
  });

  it('is named by a path', async () => {
    const { code, errors } = await lab('run', 'LICENSE');
    expect(code).toBe(2);
    expect(errors).toContain(
      'The gallery has no recipe LICENSE. For the file of that name, write ./LICENSE.',
    );
  });

  it('has no variants unless it lists some', async () => {
    const path = write('plain.txt', example!);
    const { code, errors } = await lab('run', path, '--variant', 'x');
    expect(code).toBe(2);
    expect(errors).toContain(`${path} has no variants, and so none called "x".`);
  });

  it('is not a part of the lab', async () => {
    const { code, errors } = await lab('./my-recipe.txt');
    expect(code).toBe(2);
    expect(errors).toContain('Did you mean holdfast lab run ./my-recipe.txt?');
  });
});
