import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { afterAll, describe, expect, it } from 'vitest';
import { ROOT } from './cli-process.ts';

interface Entry {
  readonly import: { readonly types: string; readonly default: string };
  readonly require: { readonly types: string; readonly default: string };
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const entries = Object.entries<string | Entry>(manifest.exports).filter(
  (entry): entry is [string, Entry] => typeof entry[1] === 'object',
);
const specifiers = entries.map(([path]) => path.replace('.', 'holdfast'));

/** A program that has installed the package. Scripts do not run: other tests use the build meanwhile. */
const consumer = mkdtempSync(join(tmpdir(), 'holdfast-consumer-'));
mkdirSync(join(consumer, 'node_modules'));
symlinkSync(ROOT, join(consumer, 'node_modules', 'holdfast'), 'dir');
symlinkSync(join(ROOT, 'node_modules', '@types'), join(consumer, 'node_modules', '@types'), 'dir');
symlinkSync(
  join(ROOT, 'node_modules', 'undici-types'),
  join(consumer, 'node_modules', 'undici-types'),
  'dir',
);
afterAll(() => rmSync(consumer, { recursive: true }));

function runFile(name: string, source: string, ...flags: string[]): string {
  const path = join(consumer, name);
  writeFileSync(path, source);
  return execFileSync(process.execPath, [...flags, path], { cwd: consumer, encoding: 'utf8' });
}

interface PackedFile {
  readonly path: string;
  readonly size: number;
}

function pack(): { readonly unpackedSize: number; readonly files: readonly PackedFile[] } {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  return packed;
}

const ROOT_NAMES = [
  'DeadlockError',
  'LockAbortedError',
  'LockArgumentError',
  'LockError',
  'LockLostError',
  'LockTimeoutError',
  'LockUnavailableError',
  'NotHeldError',
  'SessionError',
  'createLocks',
  'memoryStore',
  'openSession',
  'redisStore',
];

const LOCK_PROGRAM = `
  const locks = createLocks();
  locks.mutex('job').run(() => process.stdout.write('held')).then(() => locks.close());
`;

describe('the entries of the package', () => {
  it('are files that were built', () => {
    const targets = entries.flatMap(([, entry]) =>
      [entry.import, entry.require].flatMap((each) => Object.values(each)),
    );
    expect(targets.length).toBe(4 * entries.length);
    expect(targets.filter((target) => !existsSync(join(ROOT, target)))).toEqual([]);
  });

  it('export locks only from the root', () => {
    const source =
      "import * as all from 'holdfast'; process.stdout.write(Object.keys(all).sort().join())";
    expect(runFile('names.mjs', source)).toBe(ROOT_NAMES.join());
  });

  it.each(specifiers)('%s exports the same names to import and to require', (specifier) => {
    const source = `
      import { createRequire } from 'node:module';
      import * as imported from '${specifier}';
      const required = createRequire(import.meta.url)('${specifier}');
      const names = [imported, required].map((all) => Object.keys(all).sort().join());
      process.stdout.write(JSON.stringify(names));`;
    const [imported, required] = JSON.parse(runFile('same.mjs', source));
    expect(imported).not.toBe('');
    expect(imported).toBe(required);
  });

  it('work with import', () => {
    expect(runFile('lock.mjs', `import { createLocks } from 'holdfast'; ${LOCK_PROGRAM}`)).toBe(
      'held',
    );
  });

  it.each([
    ['holdfast', LOCK_PROGRAM],
    ['holdfast/memory', LOCK_PROGRAM],
    [
      'holdfast/engine',
      `const session = createEngine().session();
       process.stdout.write(execute(session, ['SETNX', 'job', 'x']) === 1 ? 'held' : 'busy');`,
    ],
  ])(
    'work with require("%s"), where Node cannot require an ES module, and without a warning',
    (specifier, program) => {
      const names = specifier.endsWith('engine') ? '{ createEngine, execute }' : '{ createLocks }';
      const source = `
      process.on('warning', (warning) => process.stdout.write(String(warning)));
      const ${names} = require('${specifier}'); ${program}`;
      // Node 22.0 to 22.11 and Jest are like this.
      expect(runFile('lock.cjs', source, '--no-experimental-require-module')).toBe('held');
    },
  );

  it('find the package from its own folder', () => {
    const source =
      "import { createEngine } from 'holdfast/engine'; process.stdout.write(typeof createEngine)";
    const args = ['--input-type=module', '--eval', source];
    expect(execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' })).toBe('function');
  });

  it('run scripts of the engine in a bundle, although sideEffects is false', () => {
    const source = `
      import { createEngine, execute } from 'holdfast/engine';
      process.stdout.write(execute(createEngine().session(), ['EVAL', "return redis.call('PING').ok", '0']));`;
    expect(manifest.sideEffects).toBe(false);
    expect(runFile('script.mjs', source)).toBe('PONG');
  });
});

describe.each([
  ['import', 'mjs', (from: string, names: string) => `import { ${names} } from '${from}';`],
  ['require', 'cjs', (from: string, names: string) => `const { ${names} } = require('${from}');`],
])('the library, with %s', (_, extension, load) => {
  it('prints one short line of its code for an uncaught error', () => {
    const path = join(consumer, `uncaught.${extension}`);
    writeFileSync(path, `${load('holdfast', 'createLocks')} createLocks({ bogus: 1 });`);
    const { stderr } = spawnSync(process.execPath, [path], { cwd: consumer, encoding: 'utf8' });
    expect(stderr).toContain('\nLockArgumentError: createLocks does not know');
    expect(stderr).toMatch(/\n {4}at optionsOf .*\n {4}at createLocks /);
    expect(stderr.split('\n').filter((line) => line.length > 400)).toEqual([]);
  });

  it('has the names of the source in stack traces, also those of private methods', () => {
    const source = `
      ${load('holdfast/clock', 'virtualClock')} ${load('holdfast/memory', 'createLocks')}
      const clock = virtualClock();
      const stacks = [];
      const monotonicMs = () => { stacks.push(new Error().stack); return 0; };
      createLocks({ clock: { ...clock, monotonicMs } }).mutex('job').acquire();
      process.stdout.write(stacks.join());`;
    const stacks = runFile(`names.${extension}`, source);
    expect(stacks).toMatch(
      /at #send .*\n +at Attempt\.start .*\n +at acquire .*\n +at SingleLock\.take /,
    );
  });
});

describe('a bundle', () => {
  async function bundle(source: string): Promise<string> {
    const input = join(consumer, 'entry.mjs');
    writeFileSync(input, source);
    const build = await rolldown({
      cwd: consumer,
      input,
      platform: 'node',
      external: [/^node:/, '@opentelemetry/api'],
    });
    const { output } = await build.generate({ format: 'esm', minify: true });
    await build.close();
    expect(output.length).toBe(1);
    return output[0].code;
  }

  it('of a mutex in memory has at most 25 kB compressed', async () => {
    const code = await bundle(
      "import { createLocks } from 'holdfast/memory'; createLocks().mutex('a');",
    );
    expect(gzipSync(code).length).toBeLessThan(25_000);
  });

  it('of an unused import is empty', async () => {
    const imports = specifiers.map((specifier) => `import '${specifier}';`).join('\n');
    expect((await bundle(imports)).trim()).toBe('export{};');
  });
});

describe('the declarations', () => {
  const compiler = join(
    dirname(createRequire(import.meta.url).resolve('typescript/package.json')),
    'bin',
    'tsc',
  );

  /** The errors of a program that uses every entry. */
  function check(
    type: 'module' | 'commonjs',
    module: 'node16' | 'nodenext',
    program: string,
  ): string {
    const folder = mkdtempSync(join(consumer, `${type}-`));
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type }));
    writeFileSync(join(folder, 'program.ts'), program);
    const compilerOptions = {
      module,
      target: 'es2022',
      lib: ['es2023', 'esnext.disposable'],
      strict: true,
      skipLibCheck: false,
      noEmit: true,
      types: ['node'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
    try {
      execFileSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
      return '';
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  }

  const PROGRAM = [
    ...specifiers.map((specifier, index) => `import * as entry${index} from '${specifier}';`),
    `import { createLocks, type LockErrorCode, type LockEvents, type LossReason } from 'holdfast';
     import { virtualClock } from 'holdfast/clock';
     import { createEngine, type Engine, execute } from 'holdfast/engine';
     import { startServer } from 'holdfast/server';
     export const engine: Engine = createEngine({ clock: virtualClock() });
     export const reply = execute(engine.session(), ['PING']);
     export const server = startServer({ engine, port: 0 });
     export const held: Promise<number> = createLocks().mutex('a').run(async ({ fence }) => fence);
     export type Names = [LockErrorCode, LockEvents, LossReason];`,
    `export const all = [${specifiers.map((_, index) => `entry${index}`).join()}];`,
  ].join('\n');

  it.each([
    ['module', 'node16'],
    ['commonjs', 'node16'],
    ['module', 'nodenext'],
    ['commonjs', 'nodenext'],
  ] as const)('are correct for a %s package with %s, with skipLibCheck false', (type, module) => {
    expect(check(type, module, PROGRAM)).toBe('');
  });

  it('show only the methods that a program needs of an engine', () => {
    const program = "import { createEngine } from 'holdfast/engine'; createEngine().journal;";
    expect(check('module', 'nodenext', program)).toContain(
      "'journal' does not exist on type 'Engine'",
    );
  });

  /** The declarations whose text has the pattern. */
  function declarationsWith(pattern: RegExp): string[] {
    const files = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' });
    const types = files.filter((file) => file.endsWith('.d.ts'));
    expect(types.length).toBeGreaterThan(20);
    return types.filter((file) => pattern.test(readFileSync(join(ROOT, 'dist', file), 'utf8')));
  }

  it('need no package that is optional', () => {
    const optional = Object.keys(manifest.peerDependencies).join('|');
    expect(declarationsWith(new RegExp(`'(${optional})'`))).toEqual([]);
  });

  it('have nothing that TypeScript 5.4 does not know', () => {
    expect(declarationsWith(/(Array|Buffer)<ArrayBuffer|from '[^']+\.ts'/)).toEqual([]);
  });
});

describe('the tarball', () => {
  const { files, unpackedSize } = pack();
  const paths = files.map(({ path }) => path);

  it('has every file that an entry or a program needs, and no source map', () => {
    const targets = entries.flatMap(([, entry]) =>
      [entry.import, entry.require].flatMap((each) => Object.values(each)),
    );
    const wanted = [...targets, manifest.bin.holdfast].map((path) => path.replace('./', ''));
    expect(paths).toEqual(expect.arrayContaining(wanted));
    expect(paths.filter((path) => path.endsWith('.map'))).toEqual([]);
    const mapped = files
      .filter(({ path }) => path.endsWith('.js'))
      .filter(({ path }) => readFileSync(join(ROOT, path), 'utf8').includes('sourceMappingURL'));
    expect(mapped).toEqual([]);
  });

  it('has at most 3.3 MB unpacked', () => {
    expect(unpackedSize).toBeLessThan(3_300_000);
  });

  it('runs no script when it is installed', () => {
    const scripts = Object.keys(manifest.scripts);
    expect(scripts.filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
  });

  it('has the programs of the recipes, which the lab report shows', () => {
    const programs = execFileSync('git', ['ls-files', 'examples'], { cwd: ROOT, encoding: 'utf8' });
    expect(paths).toEqual(expect.arrayContaining(programs.trim().split('\n')));
    expect(paths.filter((path) => path.includes('__pycache__'))).toEqual([]);
  });

  it('has the command holdfast', () => {
    const args = ['--no-install', 'holdfast', '--version'];
    // A cache of its own: npx links the package there, and does not repair a link that was interrupted. It
    // must not build the package meanwhile, which other tests are using.
    const npx = {
      npm_config_cache: join(consumer, 'npm-cache'),
      npm_config_ignore_scripts: 'true',
    };
    const env = { ...process.env, ...npx };
    const output = execFileSync('npx', args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe', env });
    expect(output).toBe(`${manifest.version}\n`);
  });
});
