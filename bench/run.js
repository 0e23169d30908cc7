// How long it takes until a command runs under a lock: `holdfast run` on its local server and on Redis
// beside `flock`, with what Node needs to start at all. The command says when it began, by the clock of
// the machine. HOLDFAST_MAIN names another build.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { interleave, median, printTable, ratiosOf, shownRatio, startRedis } from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 20);
const MAIN = process.env.HOLDFAST_MAIN ?? join(import.meta.dirname, '..', 'dist', 'cli', 'main.js');

const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
const environment = {
  ...process.env,
  HOLDFAST_STORE: '',
  HOLDFAST_RUNTIME_DIR: join(folder, 'local'),
};
// A shell's own start would count as part of the lock's: `date` is what it is, for all of them.
const COMMAND = ['date', '+%s%N'];
const NODE_COMMAND = join(folder, 'now.js');
writeFileSync(
  NODE_COMMAND,
  'process.stdout.write(String((performance.timeOrigin + performance.now()) * 1e6))',
);

const redis = await startRedis();
const SIDES = {
  'the command alone': COMMAND,
  flock: ['flock', join(folder, 'lock'), ...COMMAND],
  'node, which says so first': [process.execPath, NODE_COMMAND],
  'holdfast run, local': [process.execPath, MAIN, 'run', 'bench', '--', ...COMMAND],
  'holdfast run, Redis': [
    process.execPath,
    MAIN,
    'run',
    'bench',
    '--store',
    `redis://127.0.0.1:${redis.port}`,
    '--',
    ...COMMAND,
  ],
};

// The first run starts the local server, and one that waits keeps it running for all of them.
const keeper = spawn(process.execPath, [MAIN, 'run', 'keeper', '--', 'cat'], { env: environment });
execFileSync(process.execPath, [MAIN, 'run', 'bench', '--', 'true'], { env: environment });

const figures = await interleave(SIDES, ROUNDS, untilItRuns);

keeper.stdin.end();
await once(keeper, 'exit');
await redis.stop();
rmSync(folder, { recursive: true, force: true });

printTable(
  ['until the command runs', 'median ms', 'times flock', 'times node'],
  Object.entries(figures).map(([name, times]) => [
    name,
    median(times).toFixed(1),
    shownRatio(ratiosOf(times, figures.flock)),
    shownRatio(ratiosOf(times, figures['node, which says so first'])),
  ]),
);

/** Milliseconds from before the start to the time that the command prints. */
async function untilItRuns([file, ...args]) {
  const beganMs = performance.timeOrigin + performance.now();
  const child = spawn(file, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('latin1').on('data', (chunk) => {
    text += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${file} ended with ${code}`);
  return Number(text) / 1e6 - beganMs;
}
