import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../src/engine/index.ts';

const root = join(import.meta.dirname, '..');

/** Which rooms a room may enter, by their doors. The lists follow docs/architecture.md. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  clock: [],
  memory: [],
  resp: [],
  client: ['clock', 'resp'],
  lua: ['resp'],
  engine: ['clock', 'resp', 'lua', 'memory'],
  server: ['engine', 'resp', 'clock', 'memory'],
  lock: ['clock'],
  cache: ['lock', 'clock', 'client'],
  stores: ['lock', 'client', 'clock', 'engine', 'resp'],
  testing: ['clock', 'lock'],
  local: ['clock', 'engine', 'server', 'stores'],
  lab: ['client', 'clock', 'resp', 'engine', 'lock', 'stores'],
  'lab-report': ['lab'],
  cli: [
    'clock',
    'memory',
    'resp',
    'client',
    'engine',
    'server',
    'lock',
    'stores',
    'local',
    'lab',
    'lab-report',
  ],
  public: ['cache', 'clock', 'engine', 'lab', 'local', 'lock', 'resp', 'server', 'stores'],
};

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
  return path.startsWith('src/')
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

function roomOf(path: string): string | undefined {
  const [top, room, rest] = path.split('/');
  return top === 'src' && rest !== undefined ? room : undefined;
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

describe('rooms', () => {
  it('are all listed', () => {
    const rooms = new Set(
      source.map(({ path }) => roomOf(path)).filter((room) => room !== undefined),
    );
    expect([...rooms].sort()).toEqual(Object.keys(ROOMS).sort());
  });

  it('are entered by their doors, and only where the table allows it', () => {
    const wrong = source.flatMap((file) => {
      const room = roomOf(file.path);
      return imports(file)
        .filter((target) => roomOf(target) !== undefined && roomOf(target) !== room)
        .filter((target) => {
          const allowed = room === undefined || ROOMS[room]!.includes(roomOf(target)!);
          return !allowed || target !== `src/${roomOf(target)}/index.ts`;
        })
        .map((target) => `${file.path} imports ${target}`);
    });
    expect(wrong).toEqual([]);
  });
});

describe('source', () => {
  it('takes time and chance from the clock room', () => {
    const outside = source.filter(({ path }) => !path.startsWith('src/clock/'));
    const direct =
      /\b(Date\.now|new Date\(\)|Math\.random|performance\.now|process\.hrtime|(?<!\.)(?:setTimeout|setInterval|setImmediate))\b/;
    expect(places(outside, direct)).toEqual([]);
  });

  it('prints nothing but through the command line', () => {
    const rooms = source.filter(({ path }) => !path.startsWith('src/cli/'));
    expect(places(rooms, /\bconsole\.|process\.std(out|err)|\bdebugger\b/)).toEqual([]);
    expect(places(typescript, /\bconsole\.log\b|\bdebugger\b/)).toEqual([]);
  });

  it('makes no code from text', () => {
    expect(places(source, /(?:^|[^.\w])eval\((?!\w+:)|new Function\b|node:vm/)).toEqual([]);
  });

  it('exports nothing that nobody imports', () => {
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
