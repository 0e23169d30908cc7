import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CliProcess, runCli } from './cli-process.ts';

const NAMES = [
  'SETNX, pipeline 1',
  'GET, pipeline 1',
  'SETNX, pipeline 16',
  'GET, pipeline 16',
  'lock',
  'fsync',
];

it('holdfast bench --json prints every figure, and leaves no file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-test-'));
  // Options of the environment do not reach the server that is measured.
  const environment = { HOLDFAST_PASSWORD: 'secret', HOLDFAST_PORT: '1', TMPDIR: folder };
  await using bench = CliProcess.node(['bench', '--json', '--dir', folder], { environment });
  expect(await bench.ended()).toBe(0);
  const { figures } = JSON.parse(bench.text) as { figures: Record<string, number>[] };
  expect(figures.map(({ name }) => name)).toEqual(NAMES);
  for (const { perSecond, medianMs, p99Ms } of figures) {
    expect(perSecond).toBeGreaterThan(0);
    expect(medianMs).toBeGreaterThan(0);
    expect(p99Ms).toBeGreaterThanOrEqual(medianMs!);
  }
  expect(readdirSync(folder)).toEqual([]);
  await rm(folder, { recursive: true });
});

it('holdfast bench says that it cannot write to the folder', async () => {
  const { code, errors } = await runCli(['bench', '--dir', '/nowhere']);
  expect(errors).toBe(
    'holdfast: cannot write to /nowhere (ENOENT). Choose another folder with --dir.\n',
  );
  expect(code).toBe(1);
});
