import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from './cli-process.ts';
import { BUILD } from './lock-holder-process.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';

const DOCUMENT = 'docs/testing.md';
const text = readFileSync(join(ROOT, DOCUMENT), 'utf8');

/** The test files of the document, each with its line. */
const examples = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(({ index, 1: code }) => {
  const line = text.slice(0, index).split('\n').length;
  return { title: `${DOCUMENT}:${line}`, file: `line-${line}.test.ts`, code: code! };
});

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[];
  }[];
}

/** A program that has installed the package, vitest and a client of Redis. */
const consumer = mkdtempSync(join(tmpdir(), 'holdfast-testing-'));
const require = createRequire(import.meta.url);
const packageFile = (name: string, file: string): string =>
  join(dirname(require.resolve(`${name}/package.json`)), file);

const OPTIONS = {
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable', 'dom'],
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  noEmit: true,
  types: ['node'],
} as const;

function writeConsumer(port: number): void {
  const modules = join(consumer, 'node_modules');
  mkdirSync(join(modules, 'holdfast'), { recursive: true });
  symlinkSync(dirname(fileURLToPath(BUILD)), join(modules, 'holdfast', 'dist'), 'dir');
  copyFileSync(join(ROOT, 'package.json'), join(modules, 'holdfast', 'package.json'));
  for (const name of ['ioredis', 'vitest', '@types', 'undici-types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'dir');
  }
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS }));
  for (const { file, code } of examples) {
    writeFileSync(join(consumer, file), code.replaceAll('127.0.0.1:6379', `127.0.0.1:${port}`));
  }
}

/** Runs all files in one vitest, and returns what it reports, also when a test fails. */
function runExamples(): Report {
  const report = join(consumer, 'report.json');
  const args = ['run', '--root', consumer, '--reporter=json', `--outputFile=${report}`];
  try {
    execFileSync(process.execPath, [packageFile('vitest', 'vitest.mjs'), ...args], {
      stdio: 'pipe',
    });
  } catch {
    // It exits with 1 when a test fails: the report says which.
  }
  return JSON.parse(readFileSync(report, 'utf8'));
}

/** A compiler and a second vitest on a machine whose cores are busy. */
const COMPILE_AND_RUN_MS = 240_000;

describe('the examples of docs/testing.md', () => {
  let redis: RunningServer;
  let report: Report;

  beforeAll(async () => {
    redis = await startRealRedis();
    writeConsumer(redis.port);
    const compiler = packageFile('typescript', 'bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', consumer], { stdio: 'inherit' });
    report = runExamples();
  }, COMPILE_AND_RUN_MS);
  afterAll(async () => {
    await redis.stop();
    rmSync(consumer, { recursive: true });
  });

  it('use all exports of holdfast/testing', () => {
    const code = examples.map((example) => example.code).join('');
    for (const name of ['virtualClock', 'faultyStore', 'otherProcess'])
      expect(code).toContain(name);
    expect(report.testResults).toHaveLength(examples.length);
  });

  it.each(examples)('$title passes', ({ file }) => {
    const result = report.testResults.find(({ name }) => basename(name) === file);
    expect(result?.message).toBe('');
    expect(result?.assertionResults.length).toBeGreaterThan(0);
    const failed = result?.assertionResults.filter(({ status }) => status !== 'passed');
    expect(failed).toEqual([]);
  });
});
