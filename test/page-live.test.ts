import { hostname } from 'node:os';
import { Redis } from 'ioredis';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startBrowser } from './browser.ts';
import { CliProcess, runCli } from './cli-process.ts';
import { mutex, NestingProcess } from './deadlock-process.ts';
import { HolderProcess } from './lock-holder-process.ts';
import { HOSTILE } from './page-scene.ts';
import { freePort } from './real-redis.ts';
import { withinMs } from './within.ts';

/** The page in a browser, on a real server whose clients are real processes. */

const HOST = hostname();

let browser: Browser;
let context: BrowserContext;
let page: Page;
/** Errors of the page, among them those of its content security policy. */
let errors: string[];
const holders: HolderProcess[] = [];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

beforeEach(async () => {
  context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-US' });
  context.setDefaultTimeout(withinMs(10_000));
  page = await context.newPage();
  errors = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
});
afterEach(async () => {
  await context.close();
  await Promise.all(holders.splice(0).map((holder) => holder.kill()));
});

interface Server extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  /** With the token. */
  readonly address: string;
}

interface Ports {
  readonly port: number;
  readonly pagePort: number;
}

async function serve({ port, pagePort }: Ports, ...flags: string[]): Promise<Server> {
  const ports = ['--port', `${port}`, '--page-port', `${pagePort}`];
  const process = CliProcess.node(['serve', ...ports, ...flags]);
  const [, address] = await process.waitFor(/Page: (http:\S+)/);
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    address: address!,
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

async function newPorts(): Promise<Ports> {
  return { port: await freePort(), pagePort: await freePort() };
}

async function startHolder({ port }: { readonly port: number }): Promise<HolderProcess> {
  const holder = await HolderProcess.start(port);
  holders.push(holder);
  return holder;
}

/** Opens the address with the token, then a view. */
async function open(address: string, view: string): Promise<void> {
  await page.goto(address);
  await show(view);
}

/** Goes to a view without loading the page again. The view before is drawn until the page has seen the new address. */
async function show(view: string): Promise<void> {
  await page.evaluate(`location.hash = '#/${view}'`);
  const tab = view.startsWith('lock/') ? 'locks' : view;
  await page.locator(`nav a[href="#/${tab}"][aria-current]`).waitFor();
}

function rowOf(name: string): Locator {
  return page.locator('.row-body .row', { has: page.getByText(name, { exact: true }) });
}

function waitersOf(name: string): Promise<string | null> {
  return rowOf(name).locator('.waiters').textContent();
}

async function isLive(): Promise<void> {
  await page.locator('.connection', { hasText: 'Live' }).waitFor();
  await page.locator('main.stale').waitFor({ state: 'detached' });
}

function idOf(name: string): string {
  return `m${Buffer.from(name).toString('base64url')}`;
}

describe('the page of holdfast serve, in a browser', () => {
  let server: Server;

  beforeAll(async () => {
    server = await serve(await newPorts(), '--page-allow-release', '--maxmemory', '256mb');
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('opens by a link on a page of another site', async () => {
    const link = `<a href="${server.address}">page</a>`;
    await page.route('http://terminal.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: link }),
    );
    await page.goto('http://terminal.example/');
    await page.getByRole('link').click();
    await page.locator('main h1').waitFor();
    expect(page.url()).toBe(new URL('/', server.address).href);
  });

  it('shows the holder, the queue in its order, and releases the lock by force', async () => {
    const [holder, first, second] = await Promise.all([1, 2, 3].map(() => startHolder(server)));
    const { fence } = await holder!.acquire('orders:42', { label: 'ship', lease: '1m' });
    await open(server.address, 'locks');
    expect(page.url()).not.toContain('token');
    const row = rowOf('orders:42');
    await row.getByText(`${HOST}:${holder!.pid} ship`).waitFor();
    expect(await row.locator('.fence').textContent()).toBe(`${fence}`);
    const acquired = first!.acquire('orders:42', { label: 'bill', lease: '1m' });
    await expect.poll(() => waitersOf('orders:42'), { timeout: withinMs(5000) }).toBe('1');
    const queued = second!.acquire('orders:42', { label: 'mail', lease: '1m' });
    await expect.poll(() => waitersOf('orders:42'), { timeout: withinMs(5000) }).toBe('2');

    await row.getByRole('link').click();
    await page.locator('.facts', { hasText: `${HOST}:${holder!.pid}` }).waitFor();
    expect(await page.locator('.facts').textContent()).toContain(`${fence}`);
    expect(await page.locator('.queue li .client').allTextContents()).toEqual([
      `${HOST}:${first!.pid} bill`,
      `${HOST}:${second!.pid} mail`,
    ]);

    await show('clients');
    const client = page.locator('.clients tr', { hasText: `${HOST}:${second!.pid}` });
    await expect
      .poll(() => client.locator('td').allTextContents(), { timeout: withinMs(5000) })
      .toEqual(['–', 'orders:42']);

    await show('contention');
    await page.locator('.heat-name', { hasText: 'orders:*' }).waitFor();

    await show(`lock/${idOf('orders:42')}`);
    await page.getByRole('button', { name: 'Release by force' }).click();
    await page.getByLabel('Reason, for the record').fill('the <b>ship</b> job hangs');
    await page.getByRole('button', { name: 'Release', exact: true }).click();
    await page.getByText('1 lease was ended.').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    expect((await acquired).fence).toBeGreaterThan(fence);
    expect(await holder!.release()).toBe('not-held');
    await page.locator('.forced q', { hasText: 'the <b>ship</b> job hangs' }).waitFor();
    await page.locator('.facts', { hasText: `${HOST}:${first!.pid}` }).waitFor();
    await page.locator('.events', { hasText: 'lost it: released by force' }).waitFor();
    const { output } = await runCli(['show', 'orders:42', '--store', server.url]);
    expect(Buffer.from(output, 'latin1').toString()).toContain('“the <b>ship</b> job hangs”');

    await show('losses');
    const loss = page.locator('.loss', { hasText: 'Released by force' });
    await loss.locator('tr', { hasText: `${HOST}:${holder!.pid}` }).waitFor();
    await first!.release();
    await queued;
    expect(errors).toEqual([]);
  });

  it('reports a forced release to a holder that renews its lease', async () => {
    const holder = await startHolder(server);
    await holder.acquire('renewed', { lease: '1s' });
    await open(server.address, `lock/${idOf('renewed')}`);
    await page.getByRole('button', { name: 'Release by force' }).click();
    await page.getByLabel('Reason, for the record').fill('test');
    await page.keyboard.press('Enter');
    await page.getByText('1 lease was ended.').waitFor();
    expect(await holder.lost).toBe('stolen');
    await page.getByText('This lock is free.').waitFor();
  });

  it('draws a task that waits for a lock while it holds another', async () => {
    const [one, two] = await Promise.all([1, 2].map(() => NestingProcess.start(server.url)));
    try {
      const task = await one!.hold(mutex('stock:1'), mutex('stock:2'));
      const other = await two!.hold(mutex('stock:2'));
      task.go();
      await open(server.address, 'waits');
      await page.getByText('Edges as text').click();
      await expect
        .poll(async () => (await page.locator('.edges li').allTextContents()).sort(), {
          timeout: withinMs(5000),
        })
        .toEqual(
          [
            `${HOST}:${one!.child.pid} waits for stock:2`,
            `stock:1 is held by ${HOST}:${one!.child.pid}`,
            `stock:2 is held by ${HOST}:${two!.child.pid}`,
          ].sort(),
        );
      await expect.poll(() => page.locator('.edge').count()).toBe(3);
      await page.getByText('No deadlock').waitFor();
      other.go();
      await page.getByText('No task waits for a lock while it holds another.').waitFor();
      expect((await task.ended).result).toBe('done');
    } finally {
      for (const { child } of [one!, two!]) child.kill();
    }
  });

  it('shows the lease of a stopped process that expired', async () => {
    const holder = await startHolder(server);
    await open(server.address, 'losses');
    await holder.acquire('nightly', { lease: '500ms' });
    holder.stop();
    const loss = page.locator('.loss', { hasText: 'The lease expired' });
    await loss
      .locator('tr', { hasText: 'nightly' })
      .getByText(`${HOST}:${holder.pid}`, { exact: true })
      .waitFor();
    holder.continue();
    expect(await holder.lost).toBe('unreachable');
  });

  it('shows the memory, the connections and the keys of the server', async () => {
    const holder = await startHolder(server);
    await holder.acquire('a', { lease: '1m' });
    await open(server.address, 'server');
    const [, used, unit] = /([\d.]+) (kB|MB) of 256 MB/.exec(
      (await page.locator('.tile', { hasText: 'Memory' }).textContent()) ?? '',
    )!;
    const redis = new Redis(server.port);
    const [, bytes] = /used_memory:(\d+)/.exec(await redis.info('memory'))!;
    redis.disconnect();
    const shownBytes = Number(used) * (unit === 'kB' ? 1000 : 1e6);
    expect(shownBytes / Number(bytes)).toBeGreaterThan(0.5);
    expect(shownBytes / Number(bytes)).toBeLessThan(2);
    const figure = async (title: string): Promise<number> =>
      Number(await page.locator('.tile', { hasText: title }).locator('.big').textContent());
    expect(await figure('Connections')).toBeGreaterThanOrEqual(1);
    expect(await figure('Keys')).toBeGreaterThanOrEqual(1);
  });

  it('shows hostile names as text, and runs no script', async () => {
    const holder = await startHolder(server);
    const names = HOSTILE.filter(([name]) => name !== '' && name !== '\ud800lone');
    for (const [name] of names) {
      await holder.acquire(name, { lease: '1m', label: name.slice(0, 100) });
    }
    // Only other programs can take a lock with a name of more than 1,024 bytes.
    const redis = new Redis(server.port);
    await redis.set(`lock:{${'n'.repeat(2 ** 20)}}`, 'foreign', 'PX', 60_000);
    await redis.set(Buffer.from('lock:{\xff\xfe}', 'latin1'), 'foreign', 'PX', 60_000);
    redis.disconnect();
    const shown = [...names.map(([, text]) => text), 'n'.repeat(1024), '\ufffd\ufffd'];
    await open(server.address, 'locks');
    for (const text of shown) await rowOf(text).waitFor();
    for (const view of ['contention', 'clients', 'losses', 'waits', 'locks']) await show(view);
    for (const text of shown) {
      await show('locks');
      await rowOf(text).getByRole('link').click();
      await page.locator('h1', { hasText: text }).waitFor();
      await page.locator('.facts').waitFor();
      await page.getByRole('button', { name: 'Release by force' }).click();
      await page.keyboard.press('Escape');
      const width = await page.evaluate('document.documentElement.scrollWidth');
      expect(width, text.slice(0, 50)).toBeLessThanOrEqual(1280);
    }
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).not.toContain('owned');
    expect(await page.evaluate('Object.keys(Object.prototype)')).toEqual([]);
    expect(errors).toEqual([]);
  });
});

describe('a restart of the server', () => {
  it('ends the link: the page says so, and goes on once the new address is open', async () => {
    const ports = await newPorts();
    const before = await serve(ports);
    const holder = await startHolder(before);
    await holder.acquire('before', { lease: '1m' });
    await open(before.address, 'locks');
    await rowOf('before').waitFor();
    await page.evaluate('globalThis.wasNotReloaded = true');
    await before[Symbol.asyncDispose]();
    await page.getByText('What you see is from').waitFor();
    await page.locator('main.stale').waitFor();
    await rowOf('before').waitFor();

    await using after = await serve(ports);
    const other = await startHolder(after);
    await other.acquire('after', { lease: '1m' });
    await page.getByText('Open the address that the server has printed last').waitFor();
    const tab = await context.newPage();
    await tab.goto(after.address);
    await tab.getByText('after').waitFor();
    await isLive();
    await rowOf('after').waitFor();
    expect(await rowOf('before').count()).toBe(0);
    expect(await page.locator('.banner').count()).toBe(0);
    expect(await page.evaluate('wasNotReloaded')).toBe(true);
  });

  it('is shown by holdfast ui, which shows the new history only', async () => {
    const ports = await newPorts();
    const before = await serve(ports);
    const holder = await startHolder(before);
    await holder.acquire('job', { label: 'before', lease: '1m' });
    await holder.release();
    await holder.acquire('job', { label: 'before', lease: '1m' });
    await using ui = CliProcess.node(['ui', '--store', before.url]);
    const [, address] = await ui.waitFor(/Page: (http:\S+)/);
    await open(address!, `lock/${idOf('job')}`);
    await expect.poll(() => page.locator('.events tbody tr').count()).toBe(3);
    await before[Symbol.asyncDispose]();
    await page.getByText('The store does not answer').waitFor();
    await using after = await serve(ports);
    const other = await startHolder(after);
    await other.acquire('job', { label: 'after', lease: '1m' });
    await isLive();
    await page.locator('.facts', { hasText: `${HOST}:${other.pid}` }).waitFor();
    await expect
      .poll(() => page.locator('.events tbody .client').allTextContents(), {
        timeout: withinMs(5000),
      })
      .toEqual([`${HOST}:${other.pid} after`]);
  });
});
