import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AXE, violationsOf } from './axe.ts';
import { startBrowser } from './browser.ts';
import { ROOT } from './cli-process.ts';
import { withinMs } from './within.ts';

const DESKTOP = { viewport: { width: 1280, height: 900 }, locale: 'en-US' };
const PHONE = { viewport: { width: 390, height: 844 }, locale: 'en-US', hasTouch: true };
const WIDE = { viewport: { width: 2560, height: 1300 }, locale: 'en-US' };
/** The folder for screenshots; none are made without HOLDFAST_SCREENSHOTS. */
const screenshots = process.env['HOLDFAST_SCREENSHOTS'];

/** As `expect.poll`, with time for a busy machine. */
function poll<Value>(read: () => Promise<Value> | Value) {
  return expect.poll(read, { timeout: withinMs(10_000) });
}

let browser: Browser;
let server: ChildProcess;
let address: string;

beforeAll(async () => {
  server = spawn(process.execPath, [join(ROOT, 'dist/cli/main.js'), 'lab', 'serve'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [[line], started] = await Promise.all([once(server.stdout!, 'data'), startBrowser()]);
  address = /http:\S+/.exec(String(line))![0];
  browser = started;
});
afterAll(async () => {
  await browser?.close();
  server?.kill();
});

/** A page of the lab, with everything that the browser complained about. */
class OpenPage implements AsyncDisposable {
  readonly page: Page;
  readonly complaints: string[] = [];

  private constructor(page: Page) {
    this.page = page;
    page.on('console', (message) => this.complaints.push(message.text()));
    page.on('pageerror', (error) => this.complaints.push(error.message));
  }

  static async open(hash: string, options: BrowserContextOptions = DESKTOP): Promise<OpenPage> {
    const context = await browser.newContext(options);
    const open = new OpenPage(await context.newPage());
    await open.page.goto(address + hash);
    return open;
  }

  get count() {
    return this.page.locator('.step-count');
  }

  async picture(name: string): Promise<void> {
    if (screenshots) await this.page.screenshot({ path: join(screenshots, `learn ${name}.png`) });
  }

  /** Ends the page. It must not have complained. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
    expect(this.complaints).toEqual([]);
  }
}

describe('a recipe', () => {
  it('plays to its failure', async () => {
    await using open = await OpenPage.open('#/recipe/set-nx-ex-del/pause/5');
    const { page } = open;
    await page.getByRole('button', { name: 'Play' }).click();
    await page.getByText('A removes the lock that B holds.').waitFor();
    await poll(() => open.count.innerText()).toBe('8 / 8');
    expect(new URL(page.url()).hash).toBe('#/recipe/set-nx-ex-del/pause/8');
  });

  it('steps back and forward by buttons and by keys, and marks the line of each step', async () => {
    await using open = await OpenPage.open('#/recipe/set-nx-ex-del/pause/8');
    const { page } = open;
    const line = page.locator('.listing [aria-current]');
    await poll(() => line.innerText()).toContain('DEL lock');
    await page.getByRole('button', { name: 'one step back' }).click();
    await page.locator('h1').click();
    await page.keyboard.press('ArrowLeft');
    await poll(() => open.count.innerText()).toBe('6 / 8');
    expect(await line.innerText()).toContain('until SET lock 1 NX EX 2 gives OK');
    expect(await page.getByText('A removes the lock').count()).toBe(0);
    await page.keyboard.press('ArrowRight');
    await page.getByRole('button', { name: 'one step forward' }).click();
    await poll(() => open.count.innerText()).toBe('8 / 8');
  });

  it('is restored by the URL of a step', async () => {
    await using open = await OpenPage.open('#/recipe/set-nx-ex-del/pause/3');
    await poll(() => open.count.innerText()).toBe('3 / 8');
    expect(await open.page.locator('.step.later').count()).toBe(5);
    expect(await open.page.locator('.moment').innerText()).toContain('The store at 1 s');
  });

  it('goes on as the reader chooses, with a URL of its own', async () => {
    await using open = await OpenPage.open('#/recipe/set-nx-ex-del/pause/6');
    const { page } = open;
    await page.getByRole('button', { name: 'time passes' }).click();
    await poll(() => open.count.innerText()).toBe('7 / 7');
    expect(new URL(page.url()).hash).toBe('#/recipe/set-nx-ex-del/pause/7?schedule=a.aza.b.');
    await page.reload();
    await poll(() => open.count.innerText()).toBe('7 / 7');
    await page.getByText('No check fails in this run.').waitFor();
    await page.getByRole('button', { name: 'Back to the run of the gallery' }).click();
    await poll(() => open.count.innerText()).toBe('0 / 8');
  });

  it('is searched in the page: verdicts, states and interleavings', async () => {
    await using open = await OpenPage.open('#/recipe/set-nx-px-lua-del/no-pause');
    const { page } = open;
    await page.getByRole('button', { name: 'Search now' }).click();
    await page.getByText('Nothing fails in any of them.').waitFor();
    const figures = await page.locator('.figures').innerText();
    expect(figures).toMatch(/interleavings\s+32,562\s+states\s+505\s/);
    expect(await page.locator('.verdict-list .mark.holds').count()).toBe(12);
  });

  it('has a search that can be cancelled', async () => {
    await using open = await OpenPage.open('#/recipe/holdfast-mutex/pause');
    const { page } = open;
    await page.getByRole('button', { name: 'Search now' }).click();
    await poll(() => page.locator('.progress').innerText()).toMatch(/[1-9][\d,]* states/);
    // By the keyboard: the button moves while the progress beside it grows, and a click waits until it stands still.
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await page.getByRole('button', { name: 'Search now' }).waitFor();
    expect(await page.locator('.verdict-list').count()).toBe(0);
  });

  it('explains each check in a tooltip, also by keyboard', async () => {
    await using open = await OpenPage.open('#/recipe/set-nx-ex-del/pause/8');
    const name = open.page.getByRole('button', { name: 'foreign-release' });
    await name.focus();
    await open.page.getByRole('tooltip').first().waitFor();
    expect(await open.page.getByRole('tooltip').first().innerText()).toMatch(/removes the lock/);
  });

  it('shows what the document says in both languages, and its claims', async () => {
    await using open = await OpenPage.open('#/recipe/set-nx-ex-del/pause');
    const { page } = open;
    expect(await page.locator('blockquote[lang=en]').innerText()).toMatch(/longer than its lease/);
    expect(await page.locator('blockquote[lang=zh-CN]').innerText()).toMatch(/超过租约/);
    await page.locator('.claims .mark').first().waitFor();
  });
});

describe('break it yourself', () => {
  it('finds the race after a line was removed', async () => {
    await using open = await OpenPage.open('#/recipe/set-nx-px-lua-del/no-pause');
    const { page } = open;
    await page.getByRole('link', { name: '✎ Break it yourself' }).click();
    const editor = page.getByRole('textbox', { name: 'The recipe' });
    const text = await editor.inputValue();
    await editor.fill(
      text.replace('until SET lock token NX PX 2000 gives OK\n    sleep 1 s\n', ''),
    );
    await page.getByRole('button', { name: 'Search now' }).click();
    await page.getByText('This lock fails.').waitFor();
    await page.getByText('A and B').first().waitFor();
    const shared = page.url();
    await using other = await OpenPage.open(new URL(shared).hash);
    await other.page.locator('.violation').first().waitFor();
    expect(
      await other.page.getByRole('textbox', { name: 'The recipe' }).inputValue(),
    ).not.toContain('until');
  });

  it('shows an error at its line', async () => {
    await using open = await OpenPage.open('#/edit');
    const { page } = open;
    const editor = page.getByRole('textbox', { name: 'The recipe' });
    await editor.fill('until SET lock 1 NX gives OK\n    slep 1 s\nhold lock\n    work\nDEL lock');
    const message = page.getByRole('alert');
    await message.waitFor();
    expect(await message.innerText()).toMatch(/^Line 2: .*sleep/);
    expect(await page.locator('.gutter .wrong').innerText()).toContain('2');
    await editor.fill('until SET lock 1 NX gives OK\n    sleep 1 s\nhold lock\n    work\nDEL lock');
    await poll(() => message.count()).toBe(0);
  });

  it('shows the store and the checks while the reader chooses each step', async () => {
    await using open = await OpenPage.open('#/edit');
    const { page } = open;
    for (const name of ['A: next step', 'A crashes'])
      await page.getByRole('button', { name }).click();
    await poll(() => open.count.innerText()).toBe('2 / 2');
    expect(await page.locator('.moment').innerText()).toMatch(/lock\s+A1\s+2 s/);
  });
});

describe('the tutorial', () => {
  it('replies (integer) 1, then (integer) 0', async () => {
    await using open = await OpenPage.open('#/tutorial/1');
    const { page } = open;
    await page.getByRole('button', { name: 'A SETNX lock A' }).click();
    const answers = page.locator('.answer');
    await poll(() => answers.allInnerTexts()).toHaveLength(1);
    await page.getByRole('textbox', { name: 'Command' }).fill('SETNX lock B');
    await page.keyboard.press('Enter');
    await poll(() => answers.locator('span').allInnerTexts()).toEqual([
      '(integer) 1',
      '(integer) 0',
    ]);
  });

  it('lets time pass by a button', async () => {
    await using open = await OpenPage.open('#/tutorial/4');
    const { page } = open;
    const log = page.locator('.answer span');
    await page.getByRole('button', { name: 'A SET lock A NX PX 30000' }).click();
    await poll(() => log.allInnerTexts()).toEqual(['OK']);
    await page.getByRole('button', { name: 'wait 30 s' }).click();
    await page.getByRole('button', { name: 'B SET lock B NX PX 30000' }).first().click();
    await poll(() => log.allInnerTexts()).toEqual(['OK', 'OK']);
  });

  it('shows the reply of a client that waited', async () => {
    await using open = await OpenPage.open('#/tutorial/9');
    const commands = open.page.locator('.dialogue button');
    for (const command of await commands.all()) await command.click();
    await poll(() => open.page.locator('.answer').allInnerTexts()).toEqual(
      expect.arrayContaining([expect.stringContaining('"lock:free"')]),
    );
  });
});

describe('the page', () => {
  it('switches language and theme, and remembers both', async () => {
    await using open = await OpenPage.open('#/');
    const { page } = open;
    await page.getByRole('button', { name: '中文' }).click();
    expect(await page.locator('h1').innerText()).toBe('锁实验室');
    const dark = (): Promise<string> =>
      page.evaluate('getComputedStyle(document.body).backgroundColor');
    const before = await dark();
    await page.getByRole('button', { name: '切换明暗' }).click();
    await poll(dark).not.toBe(before);
    const after = await dark();
    await page.reload();
    expect(await page.locator('h1').innerText()).toBe('锁实验室');
    expect(await dark()).toBe(after);
  });

  it('allows no inline script or style, and needs none', async () => {
    const response = await fetch(address);
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).toMatch(/default-src 'none'.*worker-src 'self'/);
    expect(policy).not.toContain('unsafe');
    const source = await response.text();
    expect(source).not.toMatch(/<style|\sstyle=|<script(?![^>]*\bsrc=)/);
  });

  it('answers only GET and HEAD, and only for its files', async () => {
    const status = async (path: string, method = 'GET'): Promise<number> =>
      (await fetch(new URL(path, address), { method })).status;
    expect(await status('/', 'HEAD')).toBe(200);
    expect(await status('/', 'POST')).toBe(405);
    expect(await status('/..%2f..%2fpackage.json')).toBe(404);
    expect(await status('/constructor')).toBe(404);
  });

  it('has the lab and the engine in at most 250 kB, without modules of Node', () => {
    const folder = join(ROOT, 'dist/learn/assets');
    const worker = readdirSync(folder).find((name) => name.startsWith('worker'))!;
    const code = readFileSync(join(folder, worker));
    expect(gzipSync(code).length).toBeLessThan(250_000);
    expect(code.toString()).not.toMatch(/from\s*"node:|import\("node:/);
  });

  const views = ['#/', '#/recipe/set-nx-ex-del/pause/8', '#/edit', '#/tutorial/6'];
  const sizes = { phone: PHONE, desktop: DESKTOP, wide: WIDE };

  it.each(Object.entries(sizes))(
    'is accessible and fits: %s, light and dark',
    async (size, options) => {
      for (const hash of views) {
        await using open = await OpenPage.open(hash, { ...options, colorScheme: 'light' });
        const { page } = open;
        if (/recipe|edit/.test(hash)) await open.count.waitFor();
        await poll(() => page.evaluate('document.fonts.status')).toBe('loaded');
        await page.evaluate(AXE);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          await open.picture(`${hash.replaceAll(/\W+/g, '-')} ${size} ${colorScheme}`);
          const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
          expect(over, `${hash} ${colorScheme}`).toBeLessThanOrEqual(0);
          expect(await violationsOf(page, colorScheme), `${hash} ${colorScheme}`).toEqual([]);
        }
      }
    },
  );
});
