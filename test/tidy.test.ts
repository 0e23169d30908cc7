import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/engine/index.ts';

const root = join(import.meta.dirname, '..');

const ARCHITECTURE = 'docs/architecture.md';
const HEAD = '| module | what it is | may import |';

/** A module is a folder of `src/`, or a folder inside one that has a row of its own: `lab/report`. */
type ModuleTable = ReadonlyMap<string, readonly string[]>;

/** Reads the first table of docs/architecture.md: the modules, and which others each may import. */
function readModuleTable(text: string): ModuleTable {
  const [, body] = text.split(`${HEAD}\n| --- | --- | --- |\n`);
  if (body === undefined) throw new Error(`${ARCHITECTURE} has no table with the head ${HEAD}`);
  const rows = body.slice(0, body.indexOf('\n\n')).split('\n').map(readModuleRow);
  const names = rows.map(({ name }) => name);
  const known = (name: string): string[] =>
    name === 'any module' ? names : name === 'nothing' ? [] : [name];
  return new Map(rows.map(({ name, allowed }) => [name, allowed.flatMap(known)]));
}

function readModuleRow(row: string): { name: string; allowed: string[] } {
  const cells = row.split('|').map((cell) => cell.trim());
  const name = /^`([a-z/-]+)\/`$/.exec(cells[1] ?? '')?.[1];
  const last = cells[3] ?? '';
  const allowed = /^(?:nothing|any module)$/.test(last) ? [last] : listed(last);
  if (cells.length !== 5 || name === undefined || allowed.length === 0) {
    throw new Error(
      `${ARCHITECTURE}: this row is not | \`name/\` | text | \`module\` …, nothing, or any module |: ${row}`,
    );
  }
  return { name, allowed };
}

function listed(cell: string): string[] {
  return /^(?:`[a-z/-]+` ?)+$/.test(cell)
    ? [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!)
    : [];
}

const MODULES = readModuleTable(readFileSync(join(root, ARCHITECTURE), 'utf8'));

interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path !== '' && existsSync(join(root, path)));

const read = (path: string): SourceFile => ({ path, text: readFileSync(join(root, path), 'utf8') });
const typescript = tracked.filter((path) => path.endsWith('.ts')).map(read);
const source = typescript.filter(({ path }) => path.startsWith('src/') && !isTest(path));
const tests = typescript.filter(({ path }) => isTest(path) || path.startsWith('test/'));

function isTest(path: string): boolean {
  return path.endsWith('.test.ts');
}

/** The files of this repository that a file imports, as paths from the root. */
function imports({ path, text }: SourceFile): string[] {
  const specifiers = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g);
  return [...specifiers].map(([, specifier]) => normalize(join(dirname(path), specifier!)));
}

/** The kind of a test file by its place and name: see vitest.config.ts. */
function isVirtual(path: string): boolean {
  return /^(?:src|web)\//.test(path)
    ? !path.endsWith('.real.test.ts')
    : path.endsWith('.virtual.test.ts');
}

/**
 * Why a file cannot be part of a virtual test: it opens sockets, starts processes or sleeps, or it imports a
 * file of test/ that does. Types are left out: they are gone when the test runs.
 */
function realParts({ path, text }: SourceFile, seen = new Set<string>()): string[] {
  const code = text.replaceAll(/^(?:import|export) type [^;]+;/gm, '');
  const own = REAL_PARTS.map((pattern) => pattern.exec(code)?.[0])
    .filter((part) => part !== undefined)
    .map((part) => `${path}: ${part}`);
  const targets = new Set(imports({ path, text: code }).filter((each) => !seen.has(each)));
  const helpers = tests.filter((file) => file.path.startsWith('test/') && targets.has(file.path));
  for (const helper of helpers) seen.add(helper.path);
  const inherited = helpers.flatMap((helper) => realParts(helper, seen));
  return [...own, ...inherited.map((part) => `${path} imports ${part}`)];
}

const REAL_PARTS = [
  /'node:(?:net|tls|https?|http2|dgram|child_process|cluster|worker_threads|timers(?:\/promises)?)'/,
  /'(?:ioredis|redis|playwright-core)'/,
  /'\.[^']*\/server\/(?:index|server)\.ts'/,
  /'\.[^']*\/within\.ts'/,
  /(?<![\w.])set(?:Timeout|Interval)\b|\bsystemClock\.setTimer\b|\bAtomics\.wait\b/,
];

/** The innermost module of a path. Files directly in `src/` belong to none. */
function moduleOf(path: string): string | undefined {
  const [top, ...folders] = dirname(path).split('/');
  if (top !== 'src') return undefined;
  const names = folders.map((_, index) => folders.slice(0, index + 1).join('/'));
  return names.findLast((name) => MODULES.has(name)) ?? folders[0];
}

/** The places where `pattern` stands outside of comments, as `path:line text`. */
function places(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .map((line, index) => ({ line: line.replace(/^\s*(\/\/|\/?\*).*/, ''), index }))
      .filter(({ line }) => pattern.test(line))
      .map(({ line, index }) => `${path}:${index + 1} ${line.trim()}`),
  );
}

describe('modules', () => {
  it('each have a row in the table of docs/architecture.md', () => {
    const modules = new Set(
      source.map(({ path }) => moduleOf(path)).filter((module) => module !== undefined),
    );
    expect([...modules].sort()).toEqual([...MODULES.keys()].sort());
  });

  it('import only the modules of their row, and only the index.ts of those', () => {
    const unknown = [...MODULES].flatMap(([module, allowed]) =>
      allowed.filter((name) => !MODULES.has(name)).map((name) => `${module} may import ${name}`),
    );
    const wrong = source.flatMap((file) => {
      const module = moduleOf(file.path);
      return imports(file)
        .filter((target) => moduleOf(target) !== undefined && moduleOf(target) !== module)
        .filter((target) => {
          const allowed = module === undefined || MODULES.get(module)!.includes(moduleOf(target)!);
          return !allowed || target !== `src/${moduleOf(target)}/index.ts`;
        })
        .map((target) => `${file.path} imports ${target}`);
    });
    expect([...unknown, ...wrong]).toEqual([]);
  });

  it('are read from rows of three cells', () => {
    const table = (...rows: string[]): string =>
      `${HEAD}\n| --- | --- | --- |\n${rows.join('\n')}\n\n| other | table | x |\n`;
    const rows = [
      '| `a/` | first | nothing |',
      '| `a/b/` | nested | `a` |',
      '| `c/` | last | any module |',
    ];
    expect([...readModuleTable(table(...rows))]).toEqual([
      ['a', []],
      ['a/b', ['a']],
      ['c', ['a', 'a/b', 'c']],
    ]);
    expect(() => readModuleTable('| module |')).toThrow(/has no table with the head/);
    for (const row of [
      '| a | no code marks | nothing |',
      '| `a/` | no list | |',
      '| `a/` | nothing |',
    ]) {
      expect(() => readModuleTable(table(row)), row).toThrow(/this row is not/);
    }
  });
});

describe('source', () => {
  it('takes time and randomness from the clock module', () => {
    const outside = source.filter(({ path }) => !path.startsWith('src/clock/'));
    const direct =
      /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|process\.hrtime|(?<!\.)(?:setTimeout|setInterval|setImmediate))\b/;
    expect(places(outside, direct)).toEqual([]);
  });

  it('prints only in the command line', () => {
    const outside = source.filter(({ path }) => !path.startsWith('src/cli/'));
    expect(places(outside, /\bconsole\.|process\.std(out|err)|\bdebugger\b/)).toEqual([]);
    expect(places(typescript, /\bconsole\.log\b|\bdebugger\b/)).toEqual([]);
  });

  it('makes no code from text', () => {
    expect(places(source, /(?:^|[^.\w])eval\((?!\w+:)|new Function\b|node:vm/)).toEqual([]);
  });

  it('has no unused exports', () => {
    const exported = /^export (?:abstract )?(?:const|function|class) (\w+)/gm;
    const unused = source
      .filter(({ path }) => !path.endsWith('/index.ts') && path !== 'src/index.ts')
      .flatMap((file) => {
        const others = typescript.filter(({ path }) => path !== file.path);
        return [...file.text.matchAll(exported)]
          .map(([, name]) => name!)
          .filter((name) => !others.some(({ text }) => new RegExp(`\\b${name}\\b`).test(text)))
          .map((name) => `${file.path} ${name}`);
      });
    expect(unused).toEqual([]);
  });

  it('has no `any` without a reason beside it', () => {
    expect(places(source, /(?::\s|\bas\s|<)any\b(?!.*\/\/)/)).toEqual([]);
  });
});

describe('tests', () => {
  it('are neither skipped nor focused', () => {
    const self = relative(root, import.meta.filename);
    const others = tests.filter(({ path }) => path !== self);
    expect(places(others, /\b(it|test|describe)\.(skip|only|todo)\b/)).toEqual([]);
  });

  it('of the virtual kind open no socket, start no process and do not sleep', () => {
    const virtual = tests.filter(({ path }) => isTest(path) && isVirtual(path));
    expect(virtual.length).toBeGreaterThan(50);
    expect(virtual.flatMap((file) => realParts(file))).toEqual([]);
  });

  it('scale their limits on the wall clock by the machine factor', () => {
    const unscaled =
      /(?:performance\.now\(\) - \w+|\btookMs)\)\.toBeLessThan(?:OrEqual)?\([\d_]+\)/;
    expect(places(tests, unscaled)).toEqual([]);
  });

  it.each([
    ["import { connect } from 'node:net';", "'node:net'"],
    ["import { execFile } from 'node:child_process';", "'node:child_process'"],
    ["import { setTimeout as sleep } from 'node:timers/promises';", "'node:timers/promises'"],
    ["import { Redis } from 'ioredis';", "'ioredis'"],
    ["import { startServer } from '../src/server/index.ts';", "'../src/server/index.ts'"],
    ["import { withinMs } from './within.ts';", "'./within.ts'"],
    ['await new Promise((resolve) => setTimeout(resolve, 50));', 'setTimeout'],
    ['systemClock.setTimer(50, resolve);', 'systemClock.setTimer'],
  ])('are refused as virtual with %s', (text, part) => {
    const path = 'test/new.virtual.test.ts';
    expect(realParts({ path, text })).toContain(`${path}: ${part}`);
  });

  it('are refused as virtual with a helper that starts a server, but not with its types', () => {
    const path = 'test/new.virtual.test.ts';
    const value = realParts({ path, text: "import { startRealRedis } from './real-redis.ts';" });
    expect(value).toContain(`${path} imports test/real-redis.ts: 'node:child_process'`);
    expect(realParts({ path, text: "import type { Server } from './real-redis.ts';" })).toEqual([]);
  });

  it('exercise every command', () => {
    const texts = tests.map(({ text }) => text.toUpperCase());
    const names = [...COMMANDS.keys()].map((name) => name.toUpperCase());
    const missing = names.filter((name) => {
      const word = new RegExp(`['"\`\\s(]${name}['"\`\\s:,]`);
      return !texts.some((text) => word.test(text));
    });
    expect(missing).toEqual([]);
  });
});

describe('documents', () => {
  const documents = tracked.filter((path) => path.endsWith('.md')).map(read);

  it('link only to what is there', () => {
    const broken = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .map(([, target]) => join(dirname(path), target!))
        .filter((target) => !existsSync(join(root, target)))
        .map((target) => `${path} → ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('are in two languages where they should be', () => {
    const headings = (path: string): number =>
      documents.find((each) => each.path === path)?.text.match(/^#+ /gm)?.length ?? 0;
    expect(headings('README.md')).toBeGreaterThan(3);
    expect(headings('README.zh-CN.md')).toBe(headings('README.md'));
  });
});
