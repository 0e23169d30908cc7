import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explore, RECIPES, type Recipe } from '../src/lab/index.ts';
import { type GalleryEntry, galleryPage } from '../src/lab/report/index.ts';
import { startBrowser } from './browser.ts';
import { ROOT, runCli } from './cli-process.ts';

/** One with a transaction, one with scripts, one with a lost reply, one with long runs and skewed clocks. */
const CHOSEN = ['setnx-only', 'multi-setnx-expire', 'set-nx-ex-del', 'timestamp-getset', 'fenced'];
const DESKTOP = { viewport: { width: 1280, height: 900 }, locale: 'en-US' };
const PHONE = { viewport: { width: 390, height: 844 }, locale: 'en-US', hasTouch: true };

const folder = mkdtempSync(join(tmpdir(), 'holdfast-gallery-'));
const file = join(folder, 'new', 'index.html');
/** The folder for screenshots; none are made without HOLDFAST_SCREENSHOTS. */
const screenshots = process.env['HOLDFAST_SCREENSHOTS'];

let browser: Browser;
let printed: string;
let source: string;

beforeAll(async () => {
  const args = ['lab', 'report', '--out', join(folder, 'new'), '--only', CHOSEN.join(',')];
  const [ended, started] = await Promise.all([runCli(args), startBrowser()]);
  browser = started;
  expect(ended).toMatchObject({ code: 0, errors: '' });
  printed = ended.output;
  source = readFileSync(file, 'utf8');
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Large runs: of the library's own lock, and of the maximum number of clients. */
function* longEntries(): Generator<GalleryEntry> {
  const named = (name: string): Recipe => RECIPES.find((each) => each.name === name)!;
  const [library, many] = [named('holdfast-mutex'), named('multi-setnx-expire')];
  const small = { variant: 'unfenced', clients: 2, ticks: 5 };
  yield { recipe: library, explorations: [explore(library, small)] };
  const wide = { variant: 'no-fault', clients: 8, ticks: 1, mostStates: 500 };
  yield { recipe: many, explorations: [explore(many, wide)] };
}

/** The page, with its console messages and its network requests. */
class OpenPage implements AsyncDisposable {
  readonly page: Page;
  readonly complaints: string[] = [];
  readonly requests: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on('console', (message) => this.complaints.push(message.text()));
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('request', (request) => this.requests.push(request.url()));
  }

  static async open(options: BrowserContextOptions = DESKTOP, address = file): Promise<OpenPage> {
    const context = await browser.newContext(options);
    const open = new OpenPage(await context.newPage());
    await open.page.goto(pathToFileURL(address).href);
    return open;
  }

  variant(id: string): Locator {
    return this.page.locator(`#${id}`);
  }

  async picture(name: string): Promise<void> {
    if (screenshots) await this.page.screenshot({ path: join(screenshots, `${name}.png`) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
  }
}

describe('holdfast lab report', () => {
  it('writes one file into a new folder, and prints its path and size', () => {
    const [line, conclusion] = printed.split('\n');
    expect(line).toMatch(new RegExp(`^${file}: \\d+ KiB$`));
    expect(conclusion).toBe('Every verdict is the expected one.');
  });

  it('makes no network requests', async () => {
    expect(source.match(/(?:src|href)="(?!#|data:,)[^"]*"/g)).toBeNull();
    expect(source).not.toMatch(/url\(|@import|https?:|\son\w+=|\sstyle="/);
    await using open = await OpenPage.open();
    expect(open.requests.filter((url) => !url.startsWith('data:'))).toEqual([
      pathToFileURL(file).href,
    ]);
  });

  it('has a policy that allows only its own script and style', async () => {
    const strange = source.replace('<main', '<script>document.title = "taken"</script><main');
    const address = join(folder, 'strange.html');
    writeFileSync(address, strange);
    await using open = await OpenPage.open(DESKTOP, address);
    expect(await open.page.title()).toBe('Holdfast: the lab');
    expect(open.complaints.join()).toContain('Content Security Policy');
  });

  it('marks unpromised failures with ~ and promised ones with ✗', async () => {
    await using open = await OpenPage.open();
    const variant = open.variant('fenced-pause');
    expect(await variant.locator('summary .mark').allInnerTexts()).toEqual([
      '✓ as promised',
      '~ two-inside · 5 steps',
    ]);
    expect(await variant.locator('.violation').innerText()).toBe(
      '~ Step 5: A and B are inside at once.',
    );
    expect(await variant.locator('tbody .mark.fails').count()).toBe(0);
    expect(await variant.locator('tbody .mark.beyond').allInnerTexts()).toEqual([
      '~ 5 steps · 3.4 %',
    ]);
    expect(await variant.locator('.unpromised').innerText()).toMatch(/^~ is not promised: a lease/);
    const wrong = open.variant('set-nx-ex-del-pause');
    expect(await wrong.locator('.mark.beyond, .unpromised').count()).toBe(0);
  });

  it('labels the share of random runs that fail', async () => {
    await using open = await OpenPage.open();
    const counts = open.variant('set-nx-ex-del-pause').locator('.counts');
    expect(await counts.innerText()).toMatch(/share of random runs that fail\s+[\d.]+ %/);
  });

  it('escapes the texts of recipes', () => {
    const text = '<img src=x onerror=alert(1)> & "quotes"';
    const about = { en: text, zh: text };
    const recipe = { ...RECIPES[0]!, about, source: { ...RECIPES[0]!.source, says: about } };
    const page = galleryPage([{ recipe, explorations: [] }], text);
    expect(page).not.toContain('<img');
    expect(page).toContain('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;quotes&quot;');
  });
});

describe.each([
  ['on a desktop', DESKTOP],
  ['on a phone', PHONE],
] as const)('the page %s', (title, options) => {
  it('fits the screen with everything open, in both languages and colours, without console messages', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await using open = await OpenPage.open({ ...options, colorScheme });
      await open.picture(`${title} ${colorScheme}`);
      await open.page.evaluate(
        'document.querySelectorAll("details").forEach((each) => each.open = true)',
      );
      for (const language of ['中文', 'English']) {
        await open.page.getByRole('button', { name: language, exact: true }).click();
        const width = await open.page.evaluate('document.documentElement.scrollWidth');
        expect(width).toBe(options.viewport.width);
        await open.variant('set-nx-ex-del').scrollIntoViewIfNeeded();
        await open.picture(`${title} ${colorScheme} ${language}`);
      }
      expect(open.complaints).toEqual([]);
    }
  });

  it('fits the screen with every program shown', async () => {
    await using open = await OpenPage.open(options);
    for (const title of ['PHP', 'Python']) {
      for (const tab of await open.page.getByRole('tab', { name: title }).all()) await tab.click();
      const width = await open.page.evaluate('document.documentElement.scrollWidth');
      expect(width).toBe(options.viewport.width);
      await open.variant('timestamp-getset').scrollIntoViewIfNeeded();
      await open.picture(`${title} ${options === PHONE ? 'phone' : 'desktop'}`);
    }
  });

  it('has room for the long keys of the library, and for eight clients', async () => {
    const address = join(folder, `library ${title}.html`);
    writeFileSync(address, galleryPage([...longEntries()], '1'));
    await using open = await OpenPage.open(options, address);
    expect(await open.page.locator('.step').count()).toBe(15);
    const width = await open.page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBe(options.viewport.width);
    for (const code of await open.page.locator('.request code').all()) {
      const box = (await code.boundingBox())!;
      expect(box.width).toBeGreaterThan(box.height);
    }
    await open.picture(`${title} library`);
  });

  it('keeps the step that is shown and its keys on the screen', async () => {
    await using open = await OpenPage.open(options);
    const variant = open.variant('set-nx-ex-del-pause');
    const slider = variant.getByRole('slider', { name: 'Step' });
    await slider.focus();
    for (const key of ['Home', 'ArrowRight', 'End']) {
      await open.page.keyboard.press(key);
      const { height } = options.viewport;
      await expectAbove(height, variant.locator('.moment:visible .what'));
      const panel = (await variant.locator('.panel').boundingBox())!;
      const bottom = options === PHONE ? panel.y : height;
      if (key !== 'Home') await expectAbove(bottom, variant.locator('.step.now'));
      if (key === 'End') await expectAbove(bottom, variant.locator('.violation'));
    }
    await open.picture(`${title} end of the run`);
  });

  async function expectAbove(bottom: number, part: Locator): Promise<void> {
    const box = (await part.boundingBox())!;
    expect(box.y).toBeGreaterThanOrEqual(0);
    expect(box.y + box.height).toBeLessThanOrEqual(bottom);
  }
});

describe('a run', () => {
  it('is stepped through by the arrow keys, and shows keys, values and TTLs at each step', async () => {
    await using open = await OpenPage.open();
    const variant = open.variant('set-nx-ex-del-pause');
    const slider = variant.getByRole('slider', { name: 'Step' });
    const rows = (): Promise<string[]> =>
      variant.locator('.moment:visible tbody tr').allInnerTexts();
    expect(await slider.inputValue()).toBe('8');
    await slider.focus();
    await open.page.keyboard.press('Home');
    expect(await variant.locator('output').innerText()).toBe('0 / 8');
    expect(await variant.locator('.what:visible').innerText()).toBe('Nothing has happened yet.');
    expect(await variant.locator('.step.later').count()).toBe(8);
    const seen: string[][] = [];
    for (let step = 1; step <= 8; step++) {
      await open.page.keyboard.press('ArrowRight');
      seen.push(await rows());
    }
    expect(seen).toEqual([
      ['lock\t1\t2 s'],
      ['lock\t1\t1 s'],
      ['lock\t1\t1 s'],
      ['lock\t1\t1 s'],
      ['no keys'],
      ['lock\t1\t2 s'],
      ['lock\t1\t2 s'],
      ['no keys'],
    ]);
    expect(await slider.getAttribute('aria-valuetext')).toBe('8 / 8: A: DEL lock: (integer) 1');
    expect(await variant.locator('.step.later').count()).toBe(0);
    expect(await variant.locator('.violation').innerText()).toBe(
      '✗ Step 8: A removes the lock that B holds.',
    );
  });

  it('is stepped through by its buttons, which stop at the ends', async () => {
    await using open = await OpenPage.open(PHONE);
    const variant = open.variant('multi-setnx-expire-crash');
    const count = variant.locator('output');
    await variant.getByRole('button', { name: 'one step forward' }).click();
    expect(await count.innerText()).toBe('14 / 14');
    const back = variant.getByRole('button', { name: 'one step back' });
    for (let left = 13; left >= -1; left--) {
      await back.click();
      expect(await count.innerText()).toBe(`${Math.max(left, 0)} / 14`);
    }
    await variant.getByRole('button', { name: 'one step forward' }).click();
    expect(await variant.locator('.clients:visible').innerText()).toMatch(
      /A asleep, inside\s+B ready/,
    );
  });

  it('has a moment for each step', async () => {
    await using open = await OpenPage.open();
    const runs = await open.page.locator('.run').all();
    expect(runs.length).toBeGreaterThan(6);
    for (const run of runs) {
      const steps = await run.locator('.step').count();
      expect(await run.locator('.moment').count()).toBe(steps + 1);
      expect(await run.locator('input').getAttribute('max')).toBe(String(steps));
    }
  });
});

describe('the claims', () => {
  it('are all shown, with links to the recipes on the page', async () => {
    await using open = await OpenPage.open();
    expect(await open.page.locator('.claim').count()).toBe(107);
    const evidence = open.page.locator('#claim-17 .evidence');
    await evidence.locator('summary').click();
    await evidence.getByRole('link').click();
    expect(new URL(open.page.url()).hash).toBe('#set-nx-ex-del-pause');
    expect(source).not.toContain('href="#watchdog-no-renewal"');
    expect(brokenLinks(source)).toEqual([]);
  });

  it('are shown below a sentence about their document', async () => {
    await using open = await OpenPage.open();
    const about = await open.page.locator('.document:not(#claims-implied) .about').allInnerTexts();
    expect(about.length).toBeGreaterThan(4);
    for (const text of about) expect(text).toMatch(/^[A-Z]/);
  });

  function brokenLinks(page: string): string[] {
    const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const links = [...page.matchAll(/ href="#([^"]+)"/g)].map(([, link]) => link!);
    return links.filter((link) => !ids.has(link));
  }

  it('are filtered by document and verdict; a link to one that is filtered out shows all', async () => {
    await using open = await OpenPage.open();
    const { page } = open;
    const shown = page.locator('.claim:visible');
    await page.getByRole('button', { name: 'wrong', exact: true }).click();
    expect(await page.locator('.filters output').innerText()).toBe(String(await shown.count()));
    expect(await page.locator('.claim:visible:not([data-verdict="wrong"])').count()).toBe(0);
    await page.getByRole('button', { name: 'Article', exact: true }).click();
    expect(await shown.count()).toBe(1);
    expect(await page.locator('.document:visible').count()).toBe(1);
    await page.locator('.questions').getByRole('link', { name: '54', exact: true }).click();
    await page.locator('#claim-54').waitFor();
    expect(await shown.count()).toBe(107);
  });

  it('are all shown without the script, and without filters', async () => {
    await using open = await OpenPage.open({ ...PHONE, javaScriptEnabled: false });
    expect(await open.page.locator('.claim:visible').count()).toBe(107);
    expect(await open.page.locator('.filters').isVisible()).toBe(false);
  });

  it('fit a desktop and a phone, in both languages', async () => {
    for (const [title, options] of [
      ['desktop', DESKTOP],
      ['phone', PHONE],
    ] as const) {
      for (const locale of ['en-US', 'zh-CN']) {
        await using open = await OpenPage.open({ ...options, locale });
        await open.page.locator('.filters').scrollIntoViewIfNeeded();
        await open.picture(`claims ${title} ${locale}`);
        await open.page.locator('#claim-54 summary').click();
        await open.picture(`claim 54 ${title} ${locale}`);
        expect(await open.page.locator('#claim-54 pre').isVisible()).toBe(true);
      }
    }
  });
});

describe('the programs of a recipe', () => {
  it('are tabs beside its pseudo-code, one shown at a time', async () => {
    await using open = await OpenPage.open();
    const recipe = open.page.locator('#set-nx-ex-del');
    const panel = recipe.getByRole('tabpanel');
    expect(await recipe.getByRole('tab').allInnerTexts()).toEqual(['Pseudo-code', 'PHP', 'Python']);
    expect(await panel.innerText()).toContain('until SET lock 1 NX EX 2 gives OK');
    await recipe.getByRole('tab', { name: 'PHP' }).click();
    expect(await panel.count()).toBe(1);
    const program = readFileSync(join(ROOT, 'examples', 'recipes', 'set-nx-ex-del.php'), 'utf8');
    expect(await panel.innerText()).toBe(program.trimEnd());
    expect(await recipe.getByRole('tabpanel', { name: 'PHP' }).count()).toBe(1);
    const fenced = open.page.locator('#fenced');
    expect(await fenced.getByRole('tab').count()).toBe(0);
  });

  it('are selected by the arrow keys, which wrap around, and by Home and End', async () => {
    await using open = await OpenPage.open();
    const recipe = open.page.locator('#set-nx-ex-del');
    await recipe.getByRole('tab').first().focus();
    const seen: string[] = [];
    for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowLeft', 'ArrowRight', 'End', 'Home']) {
      await open.page.keyboard.press(key);
      const chosen = recipe.getByRole('tab', { selected: true });
      expect(await chosen.count()).toBe(1);
      seen.push(await chosen.innerText());
      expect(await open.page.locator(':focus').innerText()).toBe(seen.at(-1));
    }
    const first = 'Pseudo-code';
    expect(seen).toEqual(['PHP', first, 'Python', first, 'Python', first]);
    await open.page.keyboard.press('Tab');
    expect(await open.page.locator(':focus').innerText()).toContain('until SET lock 1');
  });
});

describe('the languages', () => {
  it('are switched by keyboard, and remembered', async () => {
    await using open = await OpenPage.open();
    const { page } = open;
    expect(await page.locator('h1').innerText()).toBe('The lab');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('To the recipes');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('中文');
    const outline = 'getComputedStyle(document.activeElement).outlineStyle';
    expect(await page.evaluate(outline)).toBe('solid');
    await page.keyboard.press('Enter');
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
    const [english, chinese] = ['English', '中文'].map((name) =>
      page.getByRole('button', { name }),
    );
    expect(await chinese!.getAttribute('aria-pressed')).toBe('true');
    expect(await english!.getAttribute('aria-pressed')).toBe('false');
    await expectChinese(open);
    await page.reload();
    await expectChinese(open);
  });

  it('begin with the one of the browser', async () => {
    await using open = await OpenPage.open({ ...DESKTOP, locale: 'zh-CN' });
    await expectChinese(open);
  });

  async function expectChinese({ page }: OpenPage): Promise<void> {
    expect(await page.locator('h1').innerText()).toBe('锁实验室');
    const variant = page.locator('#set-nx-ex-del-pause');
    expect(await variant.locator('.violation').innerText()).toBe(
      '✗ 第 8 步：A 删除了 B 正持有的锁。',
    );
    const slider = variant.getByRole('slider', { name: '步' });
    expect(await slider.getAttribute('aria-valuetext')).toBe('8 / 8: A: DEL lock: (integer) 1');
    expect(await page.locator('.en:visible').count()).toBe(0);
  }
});

describe('accessibility', () => {
  it('has landmarks, one first heading, and a name for every control', async () => {
    await using open = await OpenPage.open();
    const { page } = open;
    for (const role of ['banner', 'main', 'navigation', 'contentinfo'] as const) {
      expect(await page.getByRole(role).count(), role).toBe(1);
    }
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual([
      ...CHOSEN,
      'Five documents on SETNX, claim by claim',
    ]);
    for (const role of ['slider', 'button', 'link'] as const) {
      const all = await page.getByRole(role).count();
      expect(all).toBeGreaterThan(0);
      expect(await page.getByRole(role, { name: /\S/ }).count(), role).toBe(all);
    }
  });

  it('opens the variant that a link names', async () => {
    await using open = await OpenPage.open();
    const variant = open.variant('timestamp-getset-skewed-clocks');
    expect(await variant.locator('.diagram').isVisible()).toBe(false);
    await open.page.getByRole('link', { name: 'skewed-clocks' }).click();
    // The page opens it when the browser reports the new hash, after the click.
    await variant.locator('.diagram').waitFor();
  });

  it('shows all content without the script', async () => {
    await using open = await OpenPage.open({ ...PHONE, javaScriptEnabled: false });
    const variant = open.variant('set-nx-ex-del-pause');
    expect(await variant.locator('.violation').isVisible()).toBe(true);
    expect(await variant.locator('.controls').isVisible()).toBe(false);
    expect(await variant.locator('.step').last().innerText()).toContain('DEL lock');
    expect(await open.page.locator('.zh:visible').count()).toBe(0);
    const recipe = open.page.locator('#set-nx-ex-del');
    expect(await recipe.getByRole('tab').count()).toBe(0);
    expect(await recipe.locator('.tab-title:visible').allInnerTexts()).toEqual([
      'Pseudo-code',
      'PHP',
      'Python',
    ]);
    expect(await recipe.locator('.tabs').innerText()).toContain('from common import redis');
  });

  it.each(['light', 'dark'] as const)('has enough contrast in the %s', async (colorScheme) => {
    await using open = await OpenPage.open({ ...DESKTOP, colorScheme });
    const pairs = [
      'ink paper',
      'soft paper',
      'soft raised',
      'soft shade',
      'link paper',
      'fault raised',
    ];
    const marks = [
      'bad bad-shade',
      'good good-shade',
      'fault fault-shade',
      'bad paper',
      'good paper',
      'fault paper',
    ];
    const clients = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((own) => `${own} raised`);
    for (const pair of [...pairs, ...marks, ...clients]) {
      const [front, back] = await Promise.all(pair.split(' ').map((name) => colour(open, name)));
      expect(contrast(front!, back!), pair).toBeGreaterThanOrEqual(4.5);
    }
  });

  async function colour({ page }: OpenPage, name: string): Promise<number[]> {
    const text = await page.evaluate<string>(
      `getComputedStyle(document.documentElement).getPropertyValue('--${name}').trim()`,
    );
    return [1, 3, 5].map((at) => Number.parseInt(text.slice(at, at + 2), 16) / 255);
  }

  /** As WCAG 2 defines it. */
  function contrast(one: number[], other: number[]): number {
    const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (lighter! + 0.05) / (darker! + 0.05);
  }

  function luminance(channels: number[]): number {
    const [red, green, blue] = channels.map((value) =>
      value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4,
    );
    return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
  }
});
