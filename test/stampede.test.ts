import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { widthOf } from '../src/cli/lab/text-width.ts';
import { LabError, type Stampede, type StampedeRun, stampede } from '../src/lab/index.ts';
import { galleryPage, STAMPEDE_COLUMNS } from '../src/lab/report/index.ts';
import { startBrowser } from './browser.ts';
import { ROOT, runCli } from './cli-process.ts';

let found: Stampede;
beforeAll(async () => {
  found = await stampede();
});

function run(name: string, of = found): StampedeRun {
  return of.runs.find((each) => each.name === name)!;
}

/** A table of the page as a list of rows, without the line below its head. */
function tableIn(document: string, firstTitle: string): string[][] {
  const text = readFileSync(join(ROOT, 'docs', document), 'utf8');
  const lines = text.slice(text.indexOf(`| ${firstTitle} |`)).split('\n');
  return lines
    .slice(0, lines.indexOf(''))
    .filter((line) => !line.startsWith('| ---'))
    .map((line) => line.slice(2, -2).split(' | '));
}

describe('a cache stampede of 200 clients', () => {
  it('loads once for each client without a lock, and the last one waits for all of them', () => {
    const { loads, answers, lastAnswerMs } = run('no-lock');
    expect({ loads, answers }).toEqual({
      loads: 200,
      answers: { new: 200, old: 0, none: 0, died: 0 },
    });
    // 10 at a time, a second each.
    expect(lastAnswerMs).toBeGreaterThanOrEqual(20_000);
    expect(lastAnswerMs).toBeLessThan(20_100);
  });

  it.each(['setnx-wait', 'cache'])(
    'loads once with %s, and all have the new value soon after',
    (name) => {
      const { loads, answers, lastAnswerMs, later } = run(name);
      expect({ loads, new: answers.new, later }).toEqual({ loads: 1, new: 200, later: 'new' });
      expect(lastAnswerMs).toBeLessThan(1110);
    },
  );

  it('gives the old value at once where clients may use it', () => {
    expect(run('setnx-old').answers).toEqual({ new: 1, old: 199, none: 0, died: 0 });
    const { answers, lastAnswerMs, loads } = run('cache-stale');
    expect({ answers, loads }).toEqual({
      answers: { new: 0, old: 200, none: 0, died: 0 },
      loads: 1,
    });
    expect(lastAnswerMs).toBeLessThan(5);
  });

  it('never ends when the holder of a lock without an expiry dies', () => {
    const waiting = run('setnx-wait-crash');
    expect(waiting).toMatchObject({
      loads: 1,
      lastAnswerMs: null,
      refreshedMs: null,
      later: 'none',
    });
    expect(waiting.answers).toEqual({ new: 0, old: 0, none: 199, died: 1 });
    expect(run('setnx-old-crash')).toMatchObject({ loads: 1, refreshedMs: null, later: 'old' });
    for (const { timeline } of [waiting, run('setnx-old-crash')]) {
      expect(timeline.at(-1)).toMatchObject({ kind: 'locked' });
    }
  });

  it('is over with one more load when the lock has an expiry, or is that of locks.cache', () => {
    for (const name of ['set-nx-ex-crash', 'cache-crash']) {
      const { loads, answers, refreshedMs, later } = run(name);
      expect({ loads, new: answers.new, later }).toEqual({ loads: 2, new: 199, later: 'new' });
      expect(refreshedMs).toBeGreaterThanOrEqual(3000);
      expect(refreshedMs).toBeLessThan(3110);
    }
    expect(run('cache-stale-crash')).toMatchObject({ loads: 2, lastAnswerMs: 1 });
    expect(run('cache-stale-crash').refreshedMs).toBeGreaterThan(30_000);
  });

  it('is watched until the database has answered all, however long that takes', async () => {
    const slow = await stampede({ clients: 100, databaseSlots: 1 });
    expect(run('no-lock', slow)).toMatchObject({
      loads: 100,
      answers: { new: 100, old: 0, none: 0, died: 0 },
    });
    expect(run('no-lock', slow).lastAnswerMs).toBeGreaterThan(100_000);
  });

  it('has the same figures each time', async () => {
    const [one, other] = [await stampede({ clients: 7 }), await stampede({ clients: 7 })];
    expect(other).toEqual(one);
    expect(run('no-lock', one).loads).toBe(7);
    expect(await stampede({ clients: 1, databaseSlots: 1 })).toMatchObject({ clients: 1 });
  });

  it.each([{ clients: 0 }, { clients: 1.5 }, { databaseSlots: 1001 }])(
    'refuses %o',
    async (options) => {
      await expect(stampede(options)).rejects.toBeInstanceOf(LabError);
    },
  );
});

describe('the guide to the cache', () => {
  it('has the figures of the stampede', () => {
    const head = STAMPEDE_COLUMNS.map(({ title }) => title.en);
    const rows = found.runs.map((each) => STAMPEDE_COLUMNS.map(({ cell }) => cell(each).en));
    expect(tableIn('cache.md', head[0]!)).toEqual([head, ...rows]);
  });
});

describe('holdfast lab stampede', () => {
  async function lab(...args: string[]) {
    const { code, output, errors } = await runCli(['lab', 'stampede', ...args]);
    return { code, output: Buffer.from(output, 'latin1').toString('utf8'), errors };
  }

  it('prints a table and what happened, in 80 columns', async () => {
    const { code, output, errors } = await lab();
    expect([code, errors]).toEqual([0, '']);
    expect(output).toMatch(/^without a lock +200 {2}200 new +20\.\d{3} +1\.\d{3}$/m);
    expect(output).toMatch(/^ +40\.000 s {2}the lock is still held, without expiry$/m);
    expect(Math.max(...output.split('\n').map(widthOf))).toBeLessThanOrEqual(80);
  });

  it('prints it in Chinese', async () => {
    const { output } = await lab('--lang', 'zh');
    expect(output).toMatch(/^不加锁 +200 {2}200 个新值/m);
    expect(output).toMatch(/ 199 个无回答，1 个崩溃 +从未/);
    expect(output.replaceAll(/locks\.cache|stale/g, '')).not.toMatch(/[a-z]{2}/);
    expect(Math.max(...output.split('\n').map(widthOf))).toBeLessThanOrEqual(80);
  });

  it('counts a single client as one', async () => {
    const { output } = await lab('--clients', '1');
    expect(output).toMatch(/^1 client requests an expired cache entry at the same moment/);
  });

  it('prints it as JSON', async () => {
    const { output } = await lab('--json', '--clients', '5', '--database-slots', '2');
    expect(JSON.parse(output)).toEqual(await stampede({ clients: 5, databaseSlots: 2 }));
  });

  it.each([
    ['--clients 0', "--clients takes a whole number from 1 to 1000, not '0'."],
    ['--database-slots many', "--database-slots takes a whole number from 1 to 1000, not 'many'."],
    ['now', "'now' is one word too many."],
  ])('refuses %s with exit code 2', async (args, message) => {
    const { code, errors } = await lab(...args.split(' '));
    expect(code).toBe(2);
    expect(errors).toContain(message);
  });
});

describe('the page of the lab', () => {
  it('has the same table, which fits on a phone, in both languages', async () => {
    const browser = await startBrowser();
    try {
      const page = await browser.newPage({
        viewport: { width: 390, height: 844 },
        locale: 'en-US',
      });
      await page.setContent(galleryPage([], '1', found));
      expect(await page.locator('.stampede tbody tr').count()).toBe(found.runs.length);
      const cells = await page
        .locator('.stampede tbody tr')
        .first()
        .locator('th, td')
        .allInnerTexts();
      expect(cells).toEqual(STAMPEDE_COLUMNS.map(({ cell }) => cell(run('no-lock')).en));
      for (const language of ['中文', 'English']) {
        await page.getByRole('button', { name: language, exact: true }).click();
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
        expect(
          await page.locator('.wide').evaluate((box) => box.scrollWidth - box.clientWidth),
        ).toBe(0);
        // The title stands beside its marker, however long it is.
        const offsets = await page.evaluate<number[]>(
          "[...document.querySelectorAll('#stampede summary')].map((line) => line.querySelector('h3').getBoundingClientRect().top - line.getBoundingClientRect().top)",
        );
        expect(new Set(offsets.map(Math.round)).size).toBe(1);
      }
      await page.locator('#stampede-cache summary').click();
      expect(await page.locator('#stampede-cache li').allInnerTexts()).toContain(
        '0.003 s 1 load begins',
      );
    } finally {
      await browser.close();
    }
  });
});
