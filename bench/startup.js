// How long processes take from start to end, as multiples of `node -e 0`: an import of the package, and short
// commands of the command line. HOLDFAST_MAIN names another build of the command line.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  interleave,
  median,
  printTable,
  ratiosOf,
  shownMark,
  shownRatio,
  startHoldfast,
} from './measure.js';

const ROUNDS = Number(process.env.HOLDFAST_ROUNDS ?? 20);
const root = join(import.meta.dirname, '..');
const MAIN = process.env.HOLDFAST_MAIN ?? join(root, 'dist', 'cli', 'main.js');
/** What an import may take beyond 1.3 times an empty program. */
const IMPORT_MS = 40;

const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
const server = await startHoldfast();
const store = ['--store', `redis://127.0.0.1:${server.port}`];
const EMPTY = 'node -e 0';
const SIDES = {
  [EMPTY]: ['-e', '0'],
  "import 'holdfast'": [program('import.mjs', 'index.js')],
  "import 'holdfast/memory'": [program('memory.mjs', 'public/memory.js')],
  "require('holdfast')": ['-e', `require(${JSON.stringify(join(root, 'dist/cjs/index.js'))})`],
  'holdfast --version': [MAIN, '--version'],
  'holdfast completion bash': [MAIN, 'completion', 'bash'],
  'holdfast cli PING': [MAIN, 'cli', ...store, 'PING'],
  'holdfast ls': [MAIN, 'ls', ...store],
  'holdfast run job -- true': [MAIN, 'run', 'job', ...store, '--', 'true'],
};
const MOST = {
  'holdfast --version': 1.1,
  'holdfast completion bash': 1.3,
  'holdfast cli PING': 1.8,
  'holdfast ls': 1.8,
  'holdfast run job -- true': 1.8,
};

const figures = await interleave(SIDES, ROUNDS, untilItEnds);
await server.stop();
rmSync(folder, { recursive: true });

printTable(
  ['from start to end', 'median ms', `times ${EMPTY}`, 'mark'],
  Object.entries(figures).map(([name, times]) => {
    const ratios = ratiosOf(times, figures[EMPTY]);
    return [name, median(times).toFixed(1), shownRatio(ratios), mark(name, times, ratios)];
  }),
);

function mark(name, times, ratios) {
  if (MOST[name] !== undefined) return shownMark(median(ratios), { most: MOST[name] });
  if (!name.includes("'holdfast'")) return '';
  const mostMs = 1.3 * median(figures[EMPTY]) + IMPORT_MS;
  return `${median(times) <= mostMs ? 'met' : 'missed'} (≤ 1.3 times + ${IMPORT_MS} ms)`;
}

function program(name, entry) {
  const file = join(folder, name);
  writeFileSync(file, `import ${JSON.stringify(join(root, 'dist', entry))};\n`);
  return file;
}

async function untilItEnds(args) {
  const beganMs = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with ${code}`);
  return performance.now() - beganMs;
}
