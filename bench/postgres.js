// Locks in PostgreSQL beside their floor: the fewest bare statements that could do the same through the same client. A row
// is inserted and deleted, each in a transaction of its own, without queue, fence or renewal. The server has the default
// durability: a commit waits for the disk. Needs PostgreSQL (Debian: postgresql).
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { createLocks } from '../dist/index.js';
import { postgresStore } from '../dist/public/stores.js';
import {
  freePort,
  interleaveTurns,
  median,
  printTable,
  ratiosOf,
  shownCount,
  shownMark,
  shownRatio,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 9);
const TURNS = 3;
const TURN_MS = 300;
const HAND_OVERS = 30;

const server = await startPostgres();
const pool = new pg.Pool({ connectionString: server.url, max: 10 });
const otherPool = new pg.Pool({ connectionString: server.url, max: 10 });
// The server ends connections that are closing.
for (const each of [pool, otherPool]) each.on('error', () => {});
await pool.query(
  'create table bare (name text primary key, owner text, ends timestamptz) with (fillfactor = 50)',
);
const locks = createLocks({ store: postgresStore(pool, { listen: true, createTables: true }) });
const others = createLocks({ store: postgresStore(otherPool, { listen: true }) });
await locks.ready();

const SIDES = {
  'two bare statements': async (name) => {
    await bareAcquire(name);
    await pool.query('delete from bare where name = $1 and owner = $2', [name, 'owner']);
  },
  'postgresStore(pool)': async (name) => {
    const lease = await locks.mutex(name).acquire();
    await lease.release();
  },
};

try {
  for (const workers of [1, 10]) await printCycles(workers);
  await printHandOver();
} finally {
  await locks.close();
  await others.close();
  await pool.end();
  await otherPool.end();
  await server.stop();
}

async function printCycles(workers) {
  const figures = await interleaveTurns(SIDES, ROUNDS, TURNS, (cycle) =>
    cyclesPerSecond(cycle, workers),
  );
  const floor = figures['two bare statements'];
  printTable(
    [
      `a free lock taken and released, ${workers} at a time`,
      'cycles a second',
      'times the floor',
      '',
    ],
    Object.entries(figures).map(([name, rates]) => {
      const ratios = ratiosOf(rates, floor);
      const mark =
        name in { 'postgresStore(pool)': 0 } ? shownMark(median(ratios), { least: 0.85 }) : '';
      return [name, shownCount(median(rates)), shownRatio(ratios), mark];
    }),
  );
}

/** Each worker has a lock of its own. */
async function cyclesPerSecond(cycle, workers) {
  const beganMs = performance.now();
  const endMs = beganMs + TURN_MS;
  const counts = await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      let count = 0;
      for (; performance.now() < endMs; count++) await cycle(`lock ${worker}`);
      return count;
    }),
  );
  const cycles = counts.reduce((sum, count) => sum + count);
  return (cycles * 1000) / (performance.now() - beganMs);
}

/** From the call of release() until the waiter of another store, on connections of its own, has its lease. */
async function printHandOver() {
  const figures = await interleaveTurns(
    { 'one bare statement': bareMs, 'a hand-over': handOverMs },
    ROUNDS,
    1,
    (measure) => medianOf(measure),
  );
  const ratios = ratiosOf(figures['a hand-over'], figures['one bare statement']);
  printTable(
    ['between two stores', 'ms', 'times one statement', ''],
    [
      ['one bare statement, committed', median(figures['one bare statement']).toFixed(2), '', ''],
      [
        'a hand-over',
        median(figures['a hand-over']).toFixed(2),
        shownRatio(ratios),
        shownMark(median(ratios), { most: 2 }),
      ],
    ],
  );
}

async function medianOf(measure) {
  const figures = [];
  for (let count = 0; count < HAND_OVERS; count++) figures.push(await measure());
  return median(figures);
}

async function bareMs() {
  const beganMs = performance.now();
  await bareAcquire('one');
  const tookMs = performance.now() - beganMs;
  await pool.query("delete from bare where name = 'one'");
  return tookMs;
}

async function handOverMs() {
  const lease = await locks.mutex('handed').acquire();
  const waiting = others.mutex('handed').acquire();
  while ((await locks.mutex('handed').inspect()).waiters.length === 0);
  const beganMs = performance.now();
  void lease.release();
  const next = await waiting;
  const tookMs = performance.now() - beganMs;
  await next.release();
  return tookMs;
}

function bareAcquire(name) {
  return pool.query(
    `insert into bare values ($1, $2, clock_timestamp() + interval '30 s') on conflict (name) do update
     set owner = excluded.owner, ends = excluded.ends where bare.ends < clock_timestamp() returning name`,
    [name, 'owner'],
  );
}

async function startPostgres() {
  const user = process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined;
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const port = await freePort();
  const options = ['-U', 'holdfast', '-A', 'trust', '-E', 'UTF8', '--locale=C'];
  execFileSync(programOf('initdb'), ['-D', data, ...options], { ...user, stdio: 'ignore' });
  const child = spawn(
    programOf('postgres'),
    ['-D', data, '-p', `${port}`, '-h', '127.0.0.1', '-k', folder],
    { ...user, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  // A benchmark that fails leaves no server behind.
  process.once('exit', () => child.kill('SIGQUIT'));
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.includes('ready to accept connections')) break;
  }
  child.stderr.resume();
  return {
    url: `postgres://holdfast@127.0.0.1:${port}/postgres`,
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGINT');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function idOf(flag) {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
}

/** Debian does not put the programs of the server on the PATH. */
function programOf(name) {
  const folder = '/usr/lib/postgresql';
  const newest = existsSync(folder) ? readdirSync(folder).sort().at(-1) : undefined;
  return newest === undefined ? name : join(folder, newest, 'bin', name);
}
