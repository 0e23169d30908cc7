// What open pages cost the server: lock cycles of one program on `holdfast serve` with 20 streams of the page open, and with
// none, rounds interleaved, median of the ratios. The locks change all the time, so that every list and every read of the
// history has something to send. Both processes share the machine with the 20 readers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createLocks } from '../dist/index.js';
import {
  freePort,
  interleave,
  median,
  printTable,
  ratiosOf,
  shownCount,
  shownMark,
  shownRatio,
  sleep,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 9);
const TURN_MS = 3000;
const PAGES = 20;
const WORKERS = 100;
const LOCKS = 1000;

const server = await startServer();
const locks = createLocks(`redis://127.0.0.1:${server.port}`);
const held = await Promise.all(
  Array.from({ length: LOCKS }, (_, number) => locks.mutex(`held:${number}`).acquire()),
);
const sides = { none: 0, pages: PAGES };
const rates = await interleave(sides, ROUNDS, async (pages) => {
  const streams = await Promise.all(Array.from({ length: pages }, openStream));
  await sleep(1000);
  const rate = await cyclesPerSecond();
  for (const stream of streams) stream.destroy();
  return rate;
});
const ratios = ratiosOf(rates.pages, rates.none);
printTable(
  [`${WORKERS} workers, ${LOCKS} locks held besides`, 'cycles a second', 'ratio', 'mark'],
  [
    ['no page', shownCount(median(rates.none)), '', ''],
    [
      `${PAGES} pages`,
      shownCount(median(rates.pages)),
      shownRatio(ratios),
      shownMark(median(ratios), { least: 0.95 }),
    ],
  ],
);
await Promise.all(held.map((lease) => lease.release()));
await locks.close();
await server.stop();

async function cyclesPerSecond() {
  const beganMs = performance.now();
  const endMs = beganMs + TURN_MS;
  const counts = await Promise.all(
    Array.from({ length: WORKERS }, async (_, worker) => {
      let count = 0;
      for (; performance.now() < endMs; count++) {
        const lease = await locks.mutex(`order:${worker}`).acquire();
        await lease.release();
      }
      return count;
    }),
  );
  return (counts.reduce((sum, count) => sum + count) * 1000) / (performance.now() - beganMs);
}

/** A stream of the page that is read to its end, as by a browser. */
async function openStream() {
  const request = get(`${server.page}api/stream`, { headers: { cookie: server.cookie } });
  request.on('error', () => {});
  const [response] = await once(request, 'response');
  if (response.statusCode !== 200) throw new Error(`the stream replies ${response.statusCode}`);
  response.on('error', () => {});
  response.resume();
  return request;
}

async function startServer() {
  const port = await freePort();
  const main = join(import.meta.dirname, '..', 'dist/cli/main.js');
  const flags = ['--port', String(port), '--appendonly', 'no', '--restart-grace', '0'];
  const child = spawn(process.execPath, [main, 'serve', ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // A benchmark that fails leaves no server behind.
  process.once('exit', () => child.kill('SIGKILL'));
  let address;
  for await (const line of createInterface({ input: child.stdout })) {
    address = /^Page: (\S+)/.exec(line)?.[1];
    if (address !== undefined) break;
  }
  child.stdout.resume();
  const [response] = await once(get(address), 'response');
  response.resume();
  return {
    port,
    page: new URL('/', address).href,
    cookie: response.headers['set-cookie'][0].split(';')[0],
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}
