import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from './cli-process.ts';
import { BUILD } from './lock-holder-process.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';

interface Block {
  readonly title: string;
  readonly language: string;
  readonly code: string;
}

/** The fenced code blocks of a document. The title of a block is `file:line`. */
function blocksIn(document: string): Block[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  return [...text.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(({ index, 1: language, 2: code }) => {
    const line = text.slice(0, index).split('\n').length;
    return { title: `${document}:${line}`, language: language!, code: code! };
  });
}

const DOCUMENTS = [
  'README.md',
  'docs/locks.md',
  'docs/leader.md',
  'docs/observability.md',
  'docs/cache.md',
  'docs/lab.md',
  'docs/engine.md',
  'docs/moving.md',
  'docs/install.md',
  'docs/from-redlock.md',
  'docs/from-redis-semaphore.md',
  'docs/from-flock-and-cron.md',
  'docs/recipes.md',
];
const blocks = DOCUMENTS.flatMap(blocksIn);
const programs = blocks.filter(({ language }) => language === 'ts');

/** The expected output of a program, from its comments: `// → text`. */
function promisedOutput({ code }: Block): string {
  return [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, output]) => `${output}\n`).join('');
}

/** The folder of a program that has installed the package and ioredis, and has a database module. */
const consumer = mkdtempSync(join(tmpdir(), 'holdfast-examples-'));
const compiler = join(
  dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
  'bin',
  'tsc',
);
const OPTIONS = {
  target: 'es2023',
  lib: ['es2023', 'esnext.disposable'],
  module: 'nodenext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  types: ['node'],
} as const;

const fileOf = (block: Block): string => `example-${programs.indexOf(block)}`;

async function writePrograms(port: number): Promise<void> {
  const modules = join(consumer, 'node_modules');
  mkdirSync(join(modules, 'holdfast'), { recursive: true });
  symlinkSync(dirname(fileURLToPath(BUILD)), join(modules, 'holdfast', 'dist'), 'dir');
  copyFileSync(join(ROOT, 'package.json'), join(modules, 'holdfast', 'package.json'));
  for (const name of ['ioredis', '@types', 'undici-types']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'dir');
  }
  copyFileSync(join(import.meta.dirname, 'sqlite-database.ts'), join(consumer, 'database.ts'));
  await writeFile(join(consumer, 'package.json'), '{ "type": "module" }');
  await writeFile(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS }));
  for (const program of programs) {
    const code = program.code.replaceAll('127.0.0.1:6379', `127.0.0.1:${port}`);
    await writeFile(join(consumer, `${fileOf(program)}.ts`), code);
  }
}

/** Creates a SQLite database, runs the SQL blocks of all documents in it, and returns its path. */
function newDatabase(name: string): string {
  const path = join(consumer, `${name}.sqlite`);
  const sql = blocks.filter(({ language }) => language === 'sql').map(({ code }) => code);
  execFileSync('sqlite3', ['-batch', '-bail', path], { input: sql.join('\n') });
  return path;
}

describe('the examples of the documents', () => {
  let redis: RunningServer;

  beforeAll(async () => {
    redis = await startRealRedis();
    await writePrograms(redis.port);
    execFileSync(process.execPath, [compiler, '-p', consumer], { stdio: 'inherit' });
  });
  afterAll(async () => {
    await redis.stop();
    rmSync(consumer, { recursive: true });
  });

  it('all import the package', () => {
    expect(programs.length).toBeGreaterThan(8);
    const others = programs.filter(({ code }) => !/ from 'holdfast(\/\w+)?'/.test(code));
    expect(others.map(({ title }) => title)).toEqual([]);
  });

  it.concurrent.each(programs)('$title prints the output in its comments', async (program) => {
    const env = { ...process.env, DATABASE: newDatabase(fileOf(program)) };
    const file = join(consumer, `${fileOf(program)}.js`);
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { env });
    expect(stderr).toBe('');
    expect(stdout).toBe(promisedOutput(program));
  });

  it('are the same in README.md and README.zh-CN.md, except for comments', () => {
    const programsIn = (document: string): string[] =>
      blocksIn(document).map(({ code }) => code.replaceAll(/(\/\/(?! →)|#).*$/gm, ''));
    expect(programsIn('README.zh-CN.md')).toEqual(programsIn('README.md'));
  });
});

describe('the index of the documents', () => {
  it('has one line for each page, and one for the decisions', () => {
    const names = readdirSync(join(ROOT, 'docs'));
    const pages = names.filter((name) => name !== 'README.md' && !name.endsWith('.png'));
    const lines = readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8').split('\n');
    const linked = lines.flatMap((line) => /^- \[.*?\]\(([^)]+)\)/.exec(line)?.[1] ?? []);
    expect(linked.sort()).toEqual(pages.map((name) => (name === 'adr' ? 'adr/' : name)).sort());
  });
});

describe('the glossary', () => {
  it('lists its terms alphabetically, each with a Chinese term', () => {
    const text = readFileSync(join(ROOT, 'docs', 'glossary.md'), 'utf8');
    const rows = text.split('\n').filter((line) => /^\| \*\*/.test(line));
    const terms = rows.map((row) => /^\| \*\*(.+?)\*\* \| \p{Script=Han}.* \| /u.exec(row)?.[1]);
    expect(terms.length).toBeGreaterThan(20);
    expect(terms).toEqual([...terms].sort());
  });
});
