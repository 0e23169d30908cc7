import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PageLock } from '../src/page/protocol.ts';
import { startBrowser } from './browser.ts';
import { type PageFixture, startPageFixture } from './page-fixture.ts';
import {
  client,
  HOSTILE,
  lock,
  SOURCE,
  shopEvents,
  shopGreeting,
  shopLocks,
} from './page-scene.ts';
import { withinMs } from './within.ts';

const require = createRequire(import.meta.url);
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const DIST = join(import.meta.dirname, '..', 'dist', 'page');
/** What the views have when their data has come. */
const CONTENT = ':is(.locks, .queue, .graph, .heat, .loss, .clients, .tiles)';
const VIEWS = ['locks', 'lock/l1', 'waits', 'contention', 'losses', 'clients', 'server'];

let browser: Browser;
let context: BrowserContext;
let fixture: PageFixture;
let page: Page;
let nowMs: number;
/** Errors of the page, among them those that its content security policy makes. */
let errors: string[];

beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

beforeEach(async () => {
  nowMs = Date.now();
  fixture = await startPageFixture();
  fixture.greeting = shopGreeting(nowMs);
  fixture.details = (id) => ({
    lock: shopLocks(nowMs).find((each) => each.id === id) ?? null,
    events: shopEvents(nowMs).filter(({ lockId }) => lockId === id),
    forced: [{ atMs: nowMs - 27_000, by: 'ops', reason: 'the nightly job hangs', holders: 1 }],
  });
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
  await fixture.close();
});

async function open(view: string): Promise<void> {
  await page.goto(`${fixture.url}#/${view}`);
  await page.locator('main h1').waitFor();
}

function rowNames(): Promise<string[]> {
  return page.locator('.row-body .row .lock-link').allTextContents();
}

describe('the views', () => {
  it.each([
    ['locks', ['pool:thumbnails', 'worker-7:812', 'foreign client', '23', '1794869343930007']],
    ['lock/l1', ['order:4711', 'web-1:22790', 'api-3:31007', 'holds 1 other lease meanwhile']],
    ['lock/l1', ['lost it: released by force', 'waited for 8.0 s', 'the nightly job hangs']],
    ['waits', ['1 deadlock', 'web-1:22790 (checkout) waits for stock:eu-west:17']],
    ['contention', ['order:*', '24 ms', '7.2 s', 'Wait times']],
    ['losses', ['The lease expired', 'renewFrom', 'session:api', 'payment:9', 'The session ended']],
    ['clients', ['cron-2:4410', 'stock:eu-west:17', 'pool:thumbnails']],
    ['server', ['68 %', '175 MB of 256 MB', '12 of them are blocked', 'SCAN 0 COUNT 10000']],
  ])('%s has %j', async (view, texts) => {
    await open(view);
    for (const text of texts) {
      await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
    }
    expect(errors).toEqual([]);
  });

  it('draws grants, hand-overs, a loss and a forced release in the timeline', async () => {
    await open('lock/l1');
    await page.locator('.chart .hold').first().waitFor();
    expect(await page.locator('.chart [role="img"] .hold').count()).toBe(5);
    expect(await page.locator('.chart [role="img"] .hand-over').count()).toBe(3);
    expect(await page.locator('.chart [role="img"] .loss').count()).toBe(2);
  });

  it('marks the edges of a deadlock, and explains a graph without nodes', async () => {
    await open('waits');
    await expect.poll(() => page.locator('.edge.in-cycle').count()).toBe(4);
    fixture.send({ type: 'locks', locks: [], isCut: false });
    await page.getByText('made inside a run() callback').waitFor();
  });

  it('follows the stream: a new lock, a new waiter, a free lock', async () => {
    await open('locks');
    await page.getByText('legacy-cron').waitFor();
    fixture.send({
      type: 'changes',
      locks: [lock('n1', 'new-lock', client('new-host', 5), nowMs, { waiterCount: 99 })],
      free: ['l7'],
      isCut: false,
    });
    await page.getByText('new-lock').waitFor();
    await page.getByText('legacy-cron').waitFor({ state: 'detached' });
    expect((await rowNames())[0]).toBe('new-lock');
  });

  it('counts the time left down without messages', async () => {
    await open('locks');
    const cell = page.locator('.row-body .row', { hasText: 'legacy-cron' }).locator('.left');
    const before = Number.parseInt((await cell.textContent()) ?? '', 10);
    await expect
      .poll(async () => Number.parseInt((await cell.textContent()) ?? '', 10), {
        timeout: withinMs(5000),
      })
      .toBeLessThan(before);
  });

  it('reads the whole queue of a lock whose lists are cut', async () => {
    const whole = shopLocks(nowMs).find(({ id }) => id === 'l5')!;
    const waiters = Array.from({ length: 23 }, (_, index) => ({
      ...whole.waiters[0]!,
      owner: `w.${index}`,
      client: client('queue', index),
    }));
    fixture.details = () => ({ lock: { ...whole, waiters }, events: [], forced: [] });
    await open('lock/l5');
    await page.getByText('queue:22').waitFor();
    expect(await page.locator('.queue li').count()).toBe(23);
  });
});

describe('states', () => {
  it.each([
    ['redis://127.0.0.1:6379', '--store redis://127.0.0.1:6379 '],
    ['127.0.0.1:7001', '--store redis://127.0.0.1:7001 '],
    ['/run/holdfast.sock', '--store unix:/run/holdfast.sock '],
    ['local', ''],
  ])('says how to make a lock when %s has none', async (label, option) => {
    fixture.greeting = [
      { type: 'source', source: { ...SOURCE, label } },
      { type: 'locks', locks: [], isCut: false },
    ];
    await open('locks');
    await page.getByText(`npx holdfast run ${option}demo -- sleep 30`).waitFor();
  });

  it('names no command for the locks of a program', async () => {
    fixture.greeting = [
      { type: 'source', source: { ...SOURCE, history: 'process' } },
      { type: 'locks', locks: [], isCut: false },
    ];
    await open('locks');
    await page.getByText('No lock is held now.').waitFor();
    expect(await page.getByText('npx holdfast run').count()).toBe(0);
  });

  it('claims nothing about events of a store without a history', async () => {
    fixture.greeting = [
      { type: 'source', source: { ...SOURCE, history: 'none' } },
      { type: 'locks', locks: [], isCut: false },
    ];
    for (const view of ['losses', 'contention']) {
      await open(view);
      await page.getByText('This store keeps no history').waitFor();
    }
    expect(await page.getByText('The first figures come').count()).toBe(0);
    await open('losses');
    expect(await page.getByText('No lease was lost').count()).toBe(0);
  });

  it('says that it connects until the first locks come', async () => {
    fixture.greeting = [];
    await page.goto(fixture.url);
    await page.getByText('Connecting to the page’s server').waitFor();
  });

  it('keeps old locks behind a banner while the server is away, then goes on', async () => {
    await open('locks');
    fixture.isDown = true;
    fixture.cut();
    await page.getByText('is lost. What you see is from').waitFor();
    await page.locator('main.stale').waitFor();
    expect(await rowNames()).toContain('order:4711');
    fixture.isDown = false;
    fixture.greeting = [
      { type: 'source', source: SOURCE },
      { type: 'locks', locks: [lock('r1', 'after-restart', null, nowMs)], isCut: false },
    ];
    await page.getByText('after-restart').waitFor({ timeout: withinMs(20_000) });
    expect(await page.locator('.banner').count()).toBe(0);
  });

  it('shows the message of a store that does not answer', async () => {
    await open('locks');
    fixture.send({ type: 'failed', message: 'ECONNREFUSED 127.0.0.1:6379.' });
    await page
      .getByText('The store does not answer: ECONNREFUSED 127.0.0.1:6379. The locks')
      .waitFor();
  });

  it('reads a lock again after a failure', async () => {
    let count = 0;
    await page.route('**/api/lock?*', (route) =>
      count++ === 0 ? route.fulfill({ status: 503, body: 'Too many requests.' }) : route.continue(),
    );
    await open('lock/l1');
    const alert = page.locator('.alert', { hasText: 'Too many requests.' });
    await alert.waitFor();
    await alert.waitFor({ state: 'detached' });
    expect(count).toBe(2);
  });

  it('says that locks are left out, that events were dropped, and whose the history is', async () => {
    fixture.greeting = [
      { type: 'source', source: { ...SOURCE, history: 'process', hasServer: false } },
      { type: 'locks', locks: shopLocks(nowMs), isCut: true },
      { type: 'history', events: [], missed: 12 },
    ];
    await open('losses');
    await page.getByText('more locks than this page shows').waitFor();
    await page.getByText('those that this process saw itself').waitFor();
    await page.getByText('12 events were dropped').waitFor();
    expect(await page.locator('nav').getByText('Server').count()).toBe(0);
  });
});

describe('the reader', () => {
  it('filters by text in the URL, and by kind', async () => {
    await open('locks');
    await page.getByRole('searchbox').fill('worker-7');
    await expect.poll(rowNames).toEqual(['pool:thumbnails', 'order:4711', 'stock:eu-west:17']);
    expect(page.url()).toContain('#/locks?q=worker-7');
    await page.getByRole('button', { name: /^Semaphore/ }).click();
    await expect.poll(rowNames).toEqual(['pool:thumbnails']);
    await page.reload();
    await expect.poll(rowNames).toHaveLength(3);
    await page.getByRole('searchbox').fill('no such lock');
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await expect.poll(rowNames).toHaveLength(7);
  });

  it('sorts by a column in both directions', async () => {
    await open('locks');
    await page.getByRole('button', { name: 'Lock', exact: true }).click();
    await expect.poll(async () => (await rowNames())[0]).toBe('config');
    await page.getByRole('button', { name: 'Lock', exact: true }).click();
    await expect.poll(async () => (await rowNames())[0]).toBe('stock:eu-west:17');
    const head = page.getByRole('columnheader', { name: 'Lock' }).first();
    expect(await head.getAttribute('aria-sort')).toBe('descending');
  });

  it('goes with the keyboard from the filter to a lock, its dialog and back', async () => {
    await open('locks');
    await expect
      .poll(async () => {
        await page.keyboard.press('/');
        return page.evaluate('document.activeElement?.type');
      })
      .toBe('search');
    await page.locator('.lock-link').first().focus();
    await page.keyboard.press('ArrowDown');
    await expect
      .poll(() => page.evaluate('document.activeElement?.textContent'))
      .toBe('order:4711');
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: 'order:4711' }).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement?.tagName')).toBe('MAIN');
    await page.getByRole('button', { name: 'Release by force' }).press('Enter');
    await page.locator('dialog[open]').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    expect(fixture.releases).toEqual([]);
  });

  it('switches language and colours, and keeps both', async () => {
    await open('locks');
    await page.getByRole('button', { name: '中文' }).click();
    await page.locator('h1', { hasText: '锁' }).waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN');
    const paper = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await paper();
    await page.getByRole('button', { name: '深色' }).click();
    await expect.poll(paper).not.toBe(light);
    await page.reload();
    await page.locator('h1', { hasText: '锁' }).waitFor();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
  });
});

describe('forced release', () => {
  it('posts the id, the reason and the holder that it showed, after saying what it does', async () => {
    await open('lock/l1');
    await page.getByRole('button', { name: 'Release by force' }).click();
    await page.getByText('The holder is not stopped').waitFor();
    await page.getByRole('button', { name: 'Release', exact: true }).click();
    expect(fixture.releases).toEqual([]);
    await page.getByLabel('Reason, for the record').fill(' the job hangs ');
    await page.getByRole('button', { name: 'Release', exact: true }).click();
    await page.getByText('1 lease was ended.').waitFor();
    expect(fixture.releases).toEqual([
      { id: 'l1', reason: 'the job hangs', owners: [expect.stringMatching(/./)] },
    ]);
  });

  it('shows why the server refused it', async () => {
    fixture.releaseStatus = 409;
    await open('lock/l1');
    await page.getByRole('button', { name: 'Release by force' }).click();
    await page.getByLabel('Reason, for the record').fill('x');
    await page.keyboard.press('Enter');
    await page.getByText('The lock was not released: The store refused it.').waitFor();
  });

  it('is not offered on a page that may only read', async () => {
    fixture.greeting = shopGreeting(nowMs, { canRelease: false });
    await open('lock/l1');
    await page.locator('.queue').waitFor();
    expect(await page.getByRole('button', { name: 'Release by force' }).count()).toBe(0);
  });
});

describe('hostile names', () => {
  const hostile = (): PageLock[] =>
    HOSTILE.map(([name], index) =>
      lock(`h${index}`, name, client(name, index, name), nowMs, {
        waiters: [
          {
            owner: `w${index}`,
            client: client(name, 1, name),
            permits: 1,
            sinceMs: null,
            holds: [`h${(index + 1) % HOSTILE.length}.1`],
          },
        ],
      }),
    );

  it.each(['waits', 'clients'])('are text in %s', async (view) => {
    fixture.greeting = [
      { type: 'source', source: SOURCE },
      { type: 'locks', locks: hostile(), isCut: false },
    ];
    await open(view);
    await page.waitForTimeout(withinMs(300));
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).not.toContain('owned');
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(1280);
    expect(errors).toEqual([]);
  });

  it('are legible: what cannot be seen is an escape', async () => {
    fixture.greeting = [
      { type: 'source', source: SOURCE },
      { type: 'locks', locks: hostile(), isCut: false },
    ];
    await open('locks');
    await expect
      .poll(async () => (await rowNames()).sort())
      .toEqual(HOSTILE.map(([, shown]) => shown).sort());
  });
});

describe('the page', () => {
  it.each(['light', 'dark'] as const)(
    'has no violation that axe finds, in %s',
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const view of VIEWS) {
        await open(view);
        await page.locator(CONTENT).first().waitFor();
        expect(await violations(), `${view}, ${colorScheme}`).toEqual([]);
      }
      await open('lock/l1');
      await page.getByRole('button', { name: 'Release by force' }).click();
      expect(await violations(), `dialog, ${colorScheme}`).toEqual([]);
    },
  );

  it.each([390, 768, 1280, 2560])('does not scroll sideways at %i px', async (width) => {
    await page.setViewportSize({ width, height: 800 });
    for (const view of VIEWS) {
      await open(view);
      const scroll = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect(scroll, view).toBeLessThanOrEqual(0);
    }
  });

  it('has at most 45 kB of scripts and styles, compressed', () => {
    const assets = readdirSync(join(DIST, 'assets'));
    const sizes = assets.map((name) => gzipSync(readFileSync(join(DIST, 'assets', name))).length);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    process.stdout.write(
      `Scripts and styles of the page: ${(total / 1000).toFixed(1)} kB compressed.\n`,
    );
    expect(total).toBeLessThanOrEqual(45_000);
  });

  it('has no inline script, no inline style, and relative URLs only', () => {
    const html = readFileSync(join(DIST, 'index.html'), 'utf8');
    expect(html).not.toMatch(/<style|\sstyle=|<script(?![^>]*\ssrc=)|(?:src|href)="\//);
  });
});

describe('10,000 locks with 1,000 changes a second', () => {
  const COUNT = 10_000;
  const RUN_MS = 4000;

  it('are drawn a screen at a time, without long tasks', async () => {
    const locks = Array.from({ length: COUNT }, (_, index) => manyLock(index, 0));
    fixture.greeting = [
      { type: 'source', source: SOURCE },
      { type: 'locks', locks, isCut: false },
    ];
    const starting = await trace(async () => {
      await open('locks');
      await page.getByText('10,000').first().waitFor();
    });
    expect(await page.locator('.row-body .row').count()).toBeLessThan(60);
    const running = await trace(sendChanges);
    const heapMb = await page.evaluate<number>('performance.memory.usedJSHeapSize / 1e6');
    process.stdout.write(
      `Longest tasks in ms of CPU (by the clock): at start ${tasksText(starting)}; ` +
        `with changes ${tasksText(running)} of ${running.length}. Heap: ${heapMb.toFixed(0)} MB.\n`,
    );
    // By the clock, a task also takes the time in which the machine runs other programs.
    expect(running.length).toBeGreaterThan(100);
    expect(running[0]!.cpuMs).toBeLessThan(withinMs(50));
    expect(starting[0]!.cpuMs).toBeLessThan(withinMs(150));
    expect(heapMb).toBeLessThan(150);
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    const last = page.locator(`.row-body [aria-rowindex="${COUNT + 1}"]`);
    await last.locator('a').click();
    await page.getByText('All locks').click();
    await last.waitFor();
  });

  function manyLock(index: number, round: number): PageLock {
    const holder = client(`host-${index % 97}`, 1000 + (index % 13), 'worker');
    return lock(`m${index}`, `tenant:${index % 50}:order:${index}`, holder, nowMs, {
      heldMs: (index * 37) % 90_000,
      waiterCount: (index * 7 + round) % 40 === 0 ? (round % 9) + 1 : 0,
    });
  }

  /** 100 changes ten times a second, a tenth of them on the first screen. */
  async function sendChanges(): Promise<void> {
    for (let round = 1; round <= RUN_MS / 100; round++) {
      const locks = Array.from({ length: 100 }, (_, index) =>
        manyLock((round * 1009 + index * 89) % COUNT, round),
      );
      fixture.send({ type: 'changes', locks, free: [], isCut: false });
      await page.waitForTimeout(100);
    }
  }

  function tasksText(tasks: readonly Task[]): string {
    const texts = tasks.map(({ cpuMs, wallMs }) => `${cpuMs.toFixed(0)} (${wallMs.toFixed(0)})`);
    return texts.slice(0, 3).join(', ');
  }
});

interface Task {
  readonly cpuMs: number;
  readonly wallMs: number;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly tid: number;
  readonly pid: number;
  readonly dur: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** The tasks of the page's main thread meanwhile, longest first. */
async function trace(action: () => Promise<void>): Promise<Task[]> {
  await browser.startTracing(page, { categories: ['disabled-by-default-devtools.timeline'] });
  await action();
  const text = (await browser.stopTracing()).toString();
  const { traceEvents } = JSON.parse(text) as { traceEvents: TraceEvent[] };
  const main = traceEvents.find(({ args }) => args.name === 'CrRendererMain');
  return traceEvents
    .filter(({ name, ph }) => ph === 'X' && name === 'RunTask')
    .filter(({ pid, tid }) => pid === main?.pid && tid === main.tid)
    .map(({ dur, tdur = dur }) => ({ cpuMs: tdur / 1000, wallMs: dur / 1000 }))
    .sort((a, b) => b.cpuMs - a.cpuMs);
}

interface AxeRule {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe finds, as `rule: element`. Its script is run by the debugger, which the policy of the page does not bind. */
async function violations(): Promise<string[]> {
  await page.evaluate(AXE);
  const rules = await page.evaluate<AxeRule[]>(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)',
  );
  return rules.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
