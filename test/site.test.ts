import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AXE, violationsOf } from './axe.ts';
import { startBrowser } from './browser.ts';
import { ROOT } from './cli-process.ts';
import { withinMs } from './within.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.json': 'application/json',
};
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'holdfast-site-'));
const site = join(folder, 'some', 'folder');
const screenshots = process.env['HOLDFAST_SCREENSHOTS'];

/** As `expect.poll`, with time for a busy machine. */
function poll<Value>(read: () => Promise<Value> | Value) {
  return expect.poll(read, { timeout: withinMs(10_000) });
}

let browser: Browser;
let server: Server;
let address: string;
let printed: string;

beforeAll(async () => {
  const built = run(process.execPath, [join(ROOT, 'scripts/site.js'), site]);
  server = createServer(({ url = '' }, response) => {
    // As a plain host of files: no rewriting of paths.
    const path = join(folder, decodeURIComponent(url.split('?', 1)[0]!));
    try {
      response.writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' });
      response.end(readFileSync(path));
    } catch {
      response.writeHead(404).end();
    }
  }).listen(0, '127.0.0.1');
  const [{ stdout }, started] = await Promise.all([built, startBrowser()]);
  browser = started;
  printed = stdout;
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/some/folder/`;
});
afterAll(async () => {
  await browser?.close();
  server?.close();
  rmSync(folder, { recursive: true });
});

async function open(path: string, options = {}): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ locale: 'en-US', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(address + path);
  return { page, complaints };
}

describe('npm run site', () => {
  it('has no broken link', () => {
    expect(printed).toMatch(/: \d+ pages, 0 broken links\n$/);
  });

  it('reports a link to a missing page, a missing anchor, a missing recipe, and an absolute one', async () => {
    const broken = join(folder, 'broken');
    cpSync(site, broken, { recursive: true });
    const links = [
      'nowhere.html',
      'locks.html#nowhere',
      '../learn/index.html#/recipe/none/none/1',
      '/docs/locks.html',
    ];
    const page = join(broken, 'docs/lab.html');
    const anchors = links.map((link) => `<a href="${link}">x</a>`).join('');
    writeFileSync(page, readFileSync(page, 'utf8').replace('</main>', `${anchors}</main>`));
    const check = `import { brokenLinks } from ${JSON.stringify(join(ROOT, 'scripts/site/links.js'))};
      process.stdout.write(JSON.stringify(await brokenLinks(${JSON.stringify(broken)})))`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', check]);
    expect(JSON.parse(stdout)).toEqual(links.map((link) => `docs/lab.html: ${link}`));
  });

  it('finds a section by its words, from a page in a folder', async () => {
    const { page, complaints } = await open('docs/adr/0001-dependencies.html');
    await page.keyboard.press('/');
    await page.getByRole('searchbox').fill('compare delete paused');
    await page.locator('#results a').first().waitFor();
    await page.getByRole('searchbox').fill('fences setnx holds');
    await page.locator('#results a', { hasText: '8. Fences' }).first().click();
    await page.waitForURL(/tutorial\.html#8-fences$/);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('finds Chinese words', async () => {
    const { page } = await open('docs/tutorial.zh-CN.html');
    await page.getByRole('button', { name: '搜索' }).click();
    await page.getByRole('searchbox').fill('停顿的持有者');
    await poll(() => page.locator('#results a').first().innerText()).toContain('停顿的持有者');
    await page.context().close();
  });

  it('goes from the tutorial to a step in the lab, and from there to the docs', async () => {
    const { page, complaints } = await open('docs/tutorial.html');
    await page.getByRole('link', { name: 'Step through it' }).click();
    await page.getByText('2 / 2').waitFor();
    await page.getByRole('link', { name: 'Docs', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Holdfast' }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it('switches language and theme', async () => {
    const { page } = await open('docs/tutorial.html');
    await page.getByRole('link', { name: '中文' }).click();
    expect(await page.locator('h1').innerText()).toContain('从 SETNX 到');
    const colour = (): Promise<string> =>
      page.evaluate('getComputedStyle(document.body).backgroundColor');
    const before = await colour();
    await page.getByRole('button', { name: '切换明暗' }).click();
    expect(await colour()).not.toBe(before);
    await page.context().close();
  });

  it.each([390, 1280, 2560])('is accessible and fits %d pixels, light and dark', async (width) => {
    for (const path of [
      'index.html',
      'docs/tutorial.html',
      'docs/stores.html',
      'docs/seeds.zh-CN.html',
    ]) {
      const { page, complaints } = await open(path, {
        viewport: { width, height: 900 },
        colorScheme: 'light',
      });
      await page.evaluate(AXE);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const name = `site ${path.replaceAll('/', '-')} ${width} ${colorScheme}.png`;
        if (screenshots) await page.screenshot({ path: join(screenshots, name) });
        const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        expect(over, `${path} ${colorScheme}`).toBeLessThanOrEqual(0);
        expect(await violationsOf(page, colorScheme), `${path} ${colorScheme}`).toEqual([]);
      }
      expect(complaints).toEqual([]);
      await page.context().close();
    }
  });
});
