import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PLAIN } from '../src/cli/console/paint.ts';
import { run } from '../src/cli/dispatch.ts';
import { drawDiagram } from '../src/cli/lab/diagram.ts';
import { ProgressLine } from '../src/cli/lab/progress-line.ts';
import { shorten, shortenWord, widthOf, wrap } from '../src/cli/lab/text-width.ts';
import { virtualClock } from '../src/clock/index.ts';
import {
  explore,
  type FailingRuns,
  RECIPES,
  type Recipe,
  replay,
  type Variant,
} from '../src/lab/index.ts';
import { CliProcess, runCli } from './cli-process.ts';

interface Printed {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}

async function lab(args: string, environment: Record<string, string> = {}): Promise<Printed> {
  const words = ['lab', ...args.split(' ').filter((word) => word !== '')];
  const { code, output, errors } = await runCli(words, { environment });
  return { code, output: utf8(output), errors: utf8(errors) };
}

function utf8(latin1: string): string {
  return Buffer.from(latin1, 'latin1').toString('utf8');
}

const lines = (text: string): string[] => text.split('\n');

describe('holdfast lab', () => {
  /** The fast recipes. The lab's own tests search every variant of all recipes. */
  const some = RECIPES.filter(({ name }) => !/^(holdfast-|timestamp-getset)/.test(name));
  const names = some.map(({ name }) => name);
  let listed: Printed;
  beforeAll(async () => {
    listed = await lab(`--only ${names.toReversed().join(',')}`);
  });

  it('lists recipes in every variant with its verdict', () => {
    expect(listed.code).toBe(0);
    expect(listed.output.match(/^\w\S*$/gm)).toEqual(names);
    for (const { name, variants } of some) {
      for (const variant of variants) {
        expect(lineOf(name, variant.name).slice(21)).toMatch(new RegExp(`^${verdictOf(variant)}`));
      }
    }
    expect(lineOf('set-nx-ex-del', 'pause')).toMatch(/foreign-release, 8 steps +a\.aza\.bwaa$/);
    expect(lineOf('setnx-only', 'no-crash')).toMatch(/ in 10,049,574 interleavings$/);
    expect(linesOf('fenced', 'pause')).toMatch(
      /✓ nothing promised fails in [\d,]+ interleavings\n {21}~ two-inside, 5 steps +a\.za\.b$/,
    );
    expect(listed.output).toMatch(/^~ is not promised: a lease cannot stop a paused holder/m);
    expect(listed.output).toMatch(/^\d+ searches: [\d,]+ interleavings in [\d,]+ states\.$/m);
    expect(listed.output).toMatch(/^Every verdict is the expected one\.$/m);
  });

  function verdictOf({ shows, unpromised }: Variant): string {
    if (shows === undefined) return '✓ nothing fails in ';
    return unpromised === undefined ? `✗ ${shows},` : '✓ nothing promised fails in ';
  }

  /** A variant's line, and the line below it with its unpromised checks. */
  function linesOf(recipe: string, variant: string): string {
    const [section] = listed.output.split(`${recipe}\n  `)[1]!.split('\n\n');
    const all = lines(section!);
    const at = all.findIndex((line) => line.startsWith(`  ${variant} `));
    const isMore = /^ {21}~/.test(all[at + 1] ?? '');
    return all.slice(at, at + (isMore ? 2 : 1)).join('\n');
  }

  function lineOf(recipe: string, variant: string): string {
    return lines(linesOf(recipe, variant))[0]!;
  }

  it('needs no more than 80 columns, and no colours', () => {
    expect(Math.max(...lines(listed.output).map(widthOf))).toBeLessThanOrEqual(80);
    expect(listed.output).not.toContain('\x1b');
    expect(listed.errors).toBe('');
  });

  it('prints schedules that are drawn in 80 columns, in both languages', () => {
    let drawn = 0;
    for (const { name, variants } of some) {
      for (const { name: variant } of variants.filter(({ shows }) => shows !== undefined)) {
        const schedule = linesOf(name, variant).split(' ').at(-1)!;
        expectStraightLines(name, schedule, variant);
        drawn++;
      }
    }
    expect(drawn).toBeGreaterThan(10);
  });

  it.each([
    ['holdfast-mutex', 'a.aza..b.bbwaa', 'unfenced'],
    ['holdfast-semaphore', 'a.za.b', 'pause'],
    ['timestamp-getset', 'aabbbzb.aa.cc.wbbb', 'loser-prolongs'],
  ])('has room for longer ones: %s %s', expectStraightLines);

  /** Expects the store's line in the column of its name in every row. */
  function expectStraightLines(recipe: string, schedule: string, variant: string): void {
    const { trace, violations } = replay(recipe, schedule, { variant });
    expect(violations.length).toBeGreaterThan(0);
    for (const language of ['en', 'zh'] as const) {
      const { head, steps } = drawDiagram(trace, violations, { language, width: 80, paint: PLAIN });
      const rows = steps.flat();
      for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(80);
      const drawn = rows.filter((row) => / [│┃┊┇├┠●‖▸✗+−]/.test(row));
      expect(drawn.length).toBeGreaterThanOrEqual(trace.length);
      const edges = drawn.map((row) => widthOf(row.slice(0, row.search(/[│┤](?!.*[│┤])/))));
      expect(new Set(edges)).toEqual(new Set([widthOf(head.replace(/(store|存储)$/, ''))]));
    }
  }

  it('prints the same as JSON', async () => {
    const { code, output } = await lab('--only setnx-only --json');
    expect(code).toBe(0);
    const found = JSON.parse(output) as { variant: string; failure?: object }[];
    expect(found.map(({ variant, failure }) => [variant, failure])).toEqual([
      ['crash', { ...SHORTEST, schedule: 'axa', steps: 2, sentence: expect.anything() }],
      ['lost-reply', { ...SHORTEST, schedule: 'la', steps: 1, sentence: expect.anything() }],
      ['no-crash', undefined],
    ]);
  });
  const SHORTEST = { check: 'held-for-ever' };
});

const FOREIGN_DELETE = `
         A   B   C                                              store
 1  0 s  ├───┼───┼──── SET lock 1 NX EX 2 ─────────────────────▶│
         ┃◀──┼───┼──── OK ──────────────────────────────────────┤ lock = 1, 2 s
         ┃   │   │     A holds the lock                         │
 2  1 s  ┃   │   │   · 1 s passes                               │ lock = 1, 1 s
 3  1 s  ●   │   │     write: taken                             │
         │   │   │     A has finished its work                  │
 4  1 s  ‖   │   │     A is paused                              │
 5  2 s  ┊   │   │   · 1 s passes                               │
         ┊   │   │     lock ends                                │
 6  2 s  ┊   ├───┼──── SET lock 1 NX EX 2 ─────────────────────▶│
         ┊   ┃◀──┼──── OK ──────────────────────────────────────┤ lock = 1, 2 s
         ┊   ┃   │     B holds the lock                         │
 7  2 s  ▸   ┃   │     A resumes                                │
 8  2 s  ├───╂───┼──── DEL lock ───────────────────────────────▶│
          ◀──╂───┼──── (integer) 1 ─────────────────────────────┤ lock is gone
             ┃   │     A is done                                │
✗ Step 8: A removes the lock that B holds.
`;

/** Whole numbers of any size are texts in JSON. */
function inJson({ interleavings, chance }: FailingRuns): object {
  return { interleavings: String(interleavings), chance };
}

describe('holdfast lab run', () => {
  it('prints the world and the verdicts, and draws the failure', async () => {
    const { code, output, errors } = await lab('run set-nx-ex-del');
    expect([code, errors]).toEqual([0, '']);
    expect(output).toContain('Variant pause: A holder is slower than its lease.\n');
    expect(output).toContain('World: 3 clients, 6 s, 1 crash, 1 pause\n');
    expect(output).toMatch(/^Covered: 11,513,058 interleavings in 8,454 states, all there are/m);
    expect(output).toMatch(/^Failing: [\d,]+ of the interleavings; 5\.1 % of the runs/m);
    expect(output).toMatch(/^ {2}✗ foreign-release +8 steps +4\.3 % {2}a\.aza\.bwaa$/m);
    expect(output).toMatch(/^ {2}✓ held-for-ever$/m);
    expect(output).toContain(FOREIGN_DELETE);
    expect(output).toContain('\nholdfast lab replay set-nx-ex-del a.aza.bwaa\n');
    expect(output).toMatch(/\nEvery verdict is the expected one\.\n$/);
  });

  it('prints the same as JSON', async () => {
    const { code, output } = await lab('run set-nx-ex-del --json');
    const found = JSON.parse(output);
    expect(code).toBe(0);
    expect(found).toMatchObject({
      recipe: 'set-nx-ex-del',
      variant: 'pause',
      world: { clients: 3, ticks: 6, crashes: 1, pauses: 1, lostReplies: 0, skews: 0, rounds: 1 },
      isExpected: true,
      isComplete: true,
      states: 8454,
      interleavings: '11513058',
    });
    const { verdicts, failure: drawn } = explore('set-nx-ex-del');
    const { trace, ...failure } = drawn!;
    expect(found.failure).toEqual({ ...failure, trace: JSON.parse(JSON.stringify(trace)) });
    const shown = found.verdicts.find(({ check }: { check: string }) => check === failure.check);
    expect(shown).toEqual({
      check: failure.check,
      holds: false,
      isExpected: true,
      isPromised: true,
      failing: inJson(verdicts.find(({ check }) => check === failure.check)!.failing!),
      failure,
    });
    expect(found.keepsPromises).toBe(false);
  });

  it('marks unpromised failures with ~ and promised ones with ✗', async () => {
    const { code, output } = await lab('run fenced --clients 2');
    expect(code).toBe(0);
    expect(output).toMatch(/^Failing: none of the interleavings$/m);
    expect(output).toMatch(/^ {2}~ two-inside +5 steps +0\.14 % {2}a\.za\.b$/m);
    expect(output).toMatch(/^ {2}✓ late-write$/m);
    expect(output).toMatch(
      /^~ is not promised: a lease cannot stop a paused holder from resuming\./m,
    );
    expect(output).toMatch(/^~ Step 5: A and B are inside at once\.$/m);
    expect(output).not.toContain('✗ ');
    const replayed = await lab('replay fenced a.za.b --clients 2');
    expect(replayed.output).toMatch(/^~ Step 5: A and B are inside at once\.$/m);
  });

  it('takes the world and the checks from flags before or after the recipe', async () => {
    const flags =
      '--variant take-over --clients 2 --rounds 2 --ticks 3 --tick-ms 500 --step-ticks 1 --crashes 0 --pauses 2 --lost-replies 1 --skews 1';
    const { output } = await lab(
      `run ${flags} timestamp-getset --json --check late-write,two-inside`,
    );
    const found = JSON.parse(output);
    expect(found.variant).toBe('take-over');
    expect(found.world).toEqual({
      clients: 2,
      rounds: 2,
      ticks: 3,
      tickMs: 500,
      stepTicks: 1,
      crashes: 0,
      pauses: 2,
      lostReplies: 1,
      skews: 1,
    });
    const checks = found.verdicts.map(({ check }: { check: string }) => check);
    expect(checks).toEqual(['late-write', 'two-inside']);
  });

  it('prints a command that replays the failure in the same world', async () => {
    const searched = await lab('run setnx-only --variant no-crash --clients 2 --crashes 1');
    const [, command] = /^holdfast lab (replay .*)$/m.exec(searched.output)!;
    expect(command).toBe('replay setnx-only axa --variant no-crash --clients 2 --crashes 1');
    const replayed = await lab(command!);
    expect(replayed.code).toBe(0);
    expect(replayed.output).toContain('✗ Step 2: the lock that A wrote has no expiry');
  });

  it('exits with 4 when the search was stopped at --most-states', async () => {
    const { code, output } = await lab('run set-nx-ex-del --most-states 50');
    expect(code).toBe(4);
    expect(output).toMatch(/then the search\s+was stopped/);
    expect(output).not.toContain('not expected');
    expect(output).toMatch(/\nThe search was stopped before it had seen everything\.\n$/);
  });
});

describe('an unexpected verdict', () => {
  const known = RECIPES as Recipe[];
  const right = known.find(({ name }) => name === 'setnx-only')!;
  const [crash] = right.variants;
  beforeAll(() => {
    // Two recipes: one expects no failure and has one, the other expects a failure and has none.
    known.push({ ...right, name: 'boasts', variants: [{ ...crash!, fails: [] }] });
    known.push({ ...right, name: 'warns', variants: [{ ...crash!, world: { crashes: 0 } }] });
  });
  afterAll(() => {
    known.splice(-2);
  });

  it.each([
    ['run boasts --clients 2', '✗ held-for-ever'],
    ['run warns --clients 3', '✓ held-for-ever'],
  ])('makes the exit code 3: %s', async (args, verdict) => {
    const { code, output } = await lab(args);
    expect(code).toBe(3);
    expect(output).toMatch(new RegExp(`^  ${verdict}.*\\(not expected\\)$`, 'm'));
    expect(output).toMatch(/\nNot every verdict is the expected one\.\n$/);
  });

  it('is reported by a replay too', async () => {
    const { code, output } = await lab('replay boasts axa');
    expect([code, (await lab('replay setnx-only axa')).code]).toEqual([3, 0]);
    expect(output).toContain('Not every verdict is the expected one.');
  });
});

describe('holdfast lab replay', () => {
  it('prints all steps and the next choices without a terminal', async () => {
    const { code, output } = await lab('replay set-nx-ex-del a.aza.bwaa');
    expect(code).toBe(0);
    expect(`\n${output}`).toContain(FOREIGN_DELETE);
    expect(output).toContain('Next could be: c . xb xc\n');
  });

  it('accepts spaces, and a clock behind, which looks like an option', async () => {
    const { code, output } = await runCli(
      ['lab', 'replay', 'timestamp-getset', '-a b', '--variant', 'skewed-clocks', '--json'],
      {},
    );
    expect(code).toBe(0);
    const { schedule, trace, violations, isExpected } = JSON.parse(utf8(output));
    expect({ schedule, violations, isExpected }).toEqual({
      schedule: '-ab',
      violations: [],
      isExpected: true,
    });
    expect(trace.map(({ action }: { action: string }) => action)).toEqual([
      'clock 3 s behind',
      'unix time',
    ]);
  });

  it('draws lost replies, transactions and many clients within 80 columns', async () => {
    const lost = await lab('replay setnx-only la --variant lost-reply');
    expect(lost.output).toContain('│   │   ✗ (the reply is lost) ───');
    const many = await lab('replay multi-setnx-expire a.bcdefgxh --clients 8');
    expect(many.output).toMatch(/^ 1 +0 s +│ │ │ │ │ │ │ │ {3}MULTI;/m);
    expect(many.output).toMatch(/^ 9 +1 s .+ ✗ +H crashes/m);
    expect(Math.max(...lines(many.output).map(widthOf))).toBeLessThanOrEqual(80);
  });
});

describe('the languages of the lab', () => {
  it.each([
    ['--lang zh', {}],
    ['', { LANG: 'zh_CN.UTF-8' }],
    ['', { LANG: 'en_US.UTF-8', LC_ALL: 'zh_TW' }],
  ])('are chosen by the flag, else by the locale: %s %o', async (flag, environment) => {
    const { output } = await lab(`replay set-nx-ex-del a.aza.bwaa ${flag}`, environment);
    expect(output).toContain('│     A 持有锁                                 │\n');
    expect(output).toContain('✗ 第 8 步：A 删除了 B 正持有的锁。\n');
  });

  it.each([
    ['--lang en', { LANG: 'zh_CN.UTF-8' }],
    ['', { LANG: 'zh_CN.UTF-8', LC_MESSAGES: 'C' }],
    ['', {}],
  ])('are English otherwise: %s %o', async (flag, environment) => {
    const { output } = await lab(`replay set-nx-ex-del a ${flag}`, environment);
    expect(output).toContain('A holds the lock');
  });

  it('print everything in Chinese with --lang zh', async () => {
    const { output } = await lab('run watchdog --lang zh --clients 2');
    const own = output.replaceAll(/^.*(?:holdfast lab replay| ✗ | ✓ | ~ ).*$/gm, '');
    const words = own.match(/[a-z]{4,}/g) ?? [];
    expect(new Set(words)).toEqual(
      new Set(['watchdog', 'pause', 'inside', 'lock', ...(own.match(/compare|delete/g) ?? [])]),
    );
    expect(output).toContain('规模：2 个客户端，8 秒，1 次崩溃，1 次停顿\n');
    expect(output).toContain('所有结论都与预期一致。');
  });
});

describe('bad input of holdfast lab', () => {
  it('is explained by the help: a point is a tick, and which failure is drawn', async () => {
    const { output } = await lab('--help');
    expect(output).toMatch(/\. is a\s+tick of the clock \(1 s unless --tick-ms says otherwise\)/);
    expect(output).toMatch(/draws a failure: a shortest one,\s+or the scene that explains it/);
  });

  it.each([
    [
      'rum',
      "There is no part 'rum' of the lab. Known parts: list, run, replay, report, serve, stampede, quorum; without one it searches all recipes.",
    ],
    ['set-nx-ex-del', "'set-nx-ex-del' is a recipe: did you mean holdfast lab run set-nx-ex-del?"],
    ['run', 'The recipe is missing.'],
    [
      'run set-nx-ex-dal',
      'Unknown recipe "set-nx-ex-dal": did you mean "set-nx-ex-del"? There are ',
    ],
    ['run watchdog --variant pauze', 'Unknown variant "pauze": did you mean "pause"? There are '],
    [
      'run fenced --check late-rite',
      'Unknown check "late-rite": did you mean "late-write"? There are ',
    ],
    [
      'run fenced --clients 9',
      'Clients must be a whole number from 1 to 8, not 9; the nearest is 8.',
    ],
    [
      'run fenced --clients 2.5',
      'Clients must be a whole number from 1 to 8, not 2.5; the nearest is 3.',
    ],
    [
      'run fenced --ticks=-1',
      'Ticks must be a whole number from 0 to 100000, not -1; the nearest is 0.',
    ],
    [
      'run fenced --crashes -1',
      'Crashes must be a whole number from 0 to 8, not -1; the nearest is 0.',
    ],
    [
      'run fenced --lost-replies 1.5',
      'Lost-replies must be a whole number from 0 to 10000, not 1.5; the nearest is 2.',
    ],
    ['run fenced --clients three', "--clients takes a whole number, not 'three'."],
    ['run fenced --most-states 0', "--most-states takes a whole number from 1 on, not '0'."],
    ['run fenced --lang de', "--lang is en or zh, not 'de'."],
    ['run fenced --out x', "Unknown option '--out'."],
    ['run fenced now', "'now' is one word too many."],
    ['replay fenced', 'The schedule is missing.'],
    [
      'replay fenced aa',
      'Step 2, "a", does not fit: A is asleep, for 1 s more. What fits is b, c, ',
    ],
    ['replay fenced b --clients 1', 'Step 1, "b", does not fit: there is no B, only A. '],
    ['replay fenced a?', 'Step 2 of the schedule cannot be read at "?": a step is '],
    ['replay fenced -- --a', 'Step 1 of the schedule cannot be read at "--a": '],
    ['report', 'Say where to write it: --out <folder>.'],
    ['--clients 3', "Unknown option '--clients'."],
  ])('%s is refused with exit code 2', async (args, message) => {
    const { code, output, errors } = await lab(args);
    expect({ code, output }).toEqual({ code: 2, output: '' });
    expect(errors.startsWith(`holdfast: ${message}`), errors).toBe(true);
    expect(errors).toMatch(/ See holdfast lab --help\.\n$/);
  });

  it('reports a folder that cannot be written before the search starts', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-lab-'));
    writeFileSync(join(folder, 'file'), '');
    const inFile = await lab(`report --out ${join(folder, 'file', 'gallery')}`);
    rmSync(folder, { recursive: true });
    expect(inFile.code).toBe(1);
    expect(inFile.errors).toMatch(/^holdfast: cannot write .*index\.html \(ENOTDIR\)\.\n$/);
    const inProcess = await lab('report --out /proc/gallery/new');
    expect(inProcess.code).toBe(1);
    expect(inProcess.errors).toMatch(/^holdfast: cannot write .*index\.html \(E\w+\)\.\n$/);
  });
});

/** Streams that report to be a terminal. */
function terminal(environment: Record<string, string> = {}) {
  const stream = (): PassThrough => Object.assign(new PassThrough(), TERMINAL);
  return { input: stream(), output: stream(), errors: stream(), environment };
}
const TERMINAL = { isTTY: true, columns: 80, rows: 30 };

function textOf(stream: PassThrough): string {
  return ((stream.read() as Buffer | null) ?? Buffer.alloc(0)).toString('utf8');
}

describe('holdfast lab on a terminal', () => {
  it('prints in colour, unless NO_COLOR or a flag disables it', async () => {
    const printed = async (args: string, environment = {}): Promise<string> => {
      const io = terminal(environment);
      expect(await run(['lab', 'run', 'setnx-only', ...args.split(' ')], io)).toBe(0);
      return textOf(io.output);
    };
    const coloured = await printed('--clients 2');
    expect(coloured).toContain('\x1b[31m✗ held-for-ever');
    expect(coloured).toContain('\x1b[33m  A crashes');
    const plain = await printed('--clients 2 --no-color');
    expect(plain).not.toContain('\x1b');
    const timeless = (text: string): string => text.replace(/\([\d.]+ s, .*\n?.*second\)/, '');
    expect(timeless(coloured.replaceAll(/\x1b\[\d+m/g, ''))).toBe(timeless(plain));
    expect(await printed('--clients 2', { NO_COLOR: '1' })).not.toContain('\x1b');
  });

  it('shows the progress of a search, and clears it at the end', () => {
    const io = terminal();
    const clock = virtualClock();
    const progress = new ProgressLine(io, 'en', clock);
    explore('set-nx-px-lua-del', {
      clock,
      onProgress: (seen) => {
        clock.advance(1000);
        return progress.follow('set-nx-px-lua-del')(seen);
      },
    });
    const line =
      /^\r\x1b\[Kset-nx-px-lua-del: 4,096 states, 4,096 a second, [\d,]+ interleavings so far$/;
    expect(textOf(io.errors)).toMatch(line);
    progress.clear();
    expect(textOf(io.errors)).toBe('\r\x1b[K');
    progress.clear();
    expect(textOf(io.errors)).toBe('');
  });

  it('shows no progress without a terminal, and limits its rate with one', () => {
    const piped = { ...terminal(), errors: new PassThrough() };
    const seen = { states: 1, moves: 1, seconds: 5, interleavings: () => 1n };
    new ProgressLine(piped, 'en').follow('x')(seen);
    expect(textOf(piped.errors)).toBe('');
    const io = terminal();
    const follow = new ProgressLine(io, 'zh').follow('x');
    for (let at = 0; at <= 100; at++) follow({ ...seen, seconds: at / 100 });
    const drawn = textOf(io.errors).split('\r').length - 1;
    expect(drawn).toBeGreaterThan(1);
    expect(drawn).toBeLessThanOrEqual(5);
  });

  it('steps through a replay with the arrow keys', async () => {
    const io = terminal({ NO_COLOR: '1' });
    const ended = run(['lab', 'replay', 'set-nx-ex-del', 'a.aza.bwaa'], io);
    const press = async (key: string): Promise<string> => {
      io.input.write(key);
      return screen();
    };
    const screen = async (): Promise<string> => {
      let text = textOf(io.output);
      while (!text.includes('\x1b[J')) {
        await new Promise((resolve) => io.output.once('readable', resolve));
        text += textOf(io.output);
      }
      return text.replaceAll(/\x1b\[[\d?]*[A-Za-z]/g, '').replaceAll('\r', '');
    };
    expect(await screen()).toMatch(/Nothing has happened yet\.\n\n0 \/ 8 {3}→ next, ← back/);
    const first = await press('\x1b[C');
    expect(first).toContain('1  0 s  ├───┼───┼──── SET lock 1 NX EX 2');
    expect(first).toContain('lock = 1  (TTL 2 s)\nA asleep, inside; B ready; C ready\n\n1 / 8');
    expect(first).not.toContain('1 s passes');
    expect(await press(' ')).toContain('2 / 8');
    expect(await press('\x1b[D')).toContain('1 / 8');
    expect(await press('\x1b[F')).toContain('✗ Step 8: A removes the lock that B holds.');
    expect(await press('n')).toContain('8 / 8');
    expect(await press('\x1b[H')).toContain('0 / 8');
    expect(await press('b')).toContain('0 / 8');
    io.input.write('q');
    expect(await ended).toBe(0);
    expect(textOf(io.output)).toBe('\x1b[?25h\x1b[?1049l');
  });

  it('shows the last steps of a run that is longer than the screen', async () => {
    const io = { ...terminal({ NO_COLOR: '1' }), output: small() };
    const ended = run(['lab', 'replay', 'set-nx-ex-del', 'a.aza.bwaa'], io);
    io.input.write('\x1b[F');
    io.input.end();
    expect(await ended).toBe(0);
    const last = textOf(io.output).split('\x1b[H').at(-1)!;
    expect(last.split('\r\n').length).toBeLessThan(TERMINAL.rows / 2);
    expect(last).toContain('✗ Step 8');
    expect(last).not.toContain('SET lock');
  });

  function small(): PassThrough {
    return Object.assign(new PassThrough(), { ...TERMINAL, rows: TERMINAL.rows / 2 });
  }

  it('restores the mode of a real terminal', async () => {
    await using cli = CliProcess.terminal(['lab', 'replay', 'setnx-only', 'axa'], {});
    await cli.waitFor(/0 \/ 2/);
    cli.type('n');
    await cli.waitFor(/1 \/ 2/);
    cli.type('\x03');
    expect(await cli.ended()).toBe(0);
    expect(cli.text.endsWith('\x1b[?25h\x1b[?1049l')).toBe(true);
  });
});

describe('text on a terminal', () => {
  it('is measured in columns', () => {
    expect(widthOf('lock')).toBe(4);
    expect(widthOf('锁，A')).toBe(5);
    expect(shorten('持有者崩溃', 7)).toBe('持有者…');
    expect(shortenWord('0123456789abcdef', 9)).toBe('0123…cdef');
    expect(shortenWord('short', 9)).toBe('short');
  });

  it('is wrapped between words, and between Chinese characters but not before punctuation', () => {
    expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
    expect(wrap('持有者崩溃，锁还在', 10)).toEqual(['持有者崩', '溃，锁还在']);
    expect(wrap('用 SETNX 加锁', 9)).toEqual(['用 SETNX', '加锁']);
    expect(wrap('', 5)).toEqual(['']);
  });
});
