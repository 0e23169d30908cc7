import { execFileSync } from 'node:child_process';
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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ROOT } from './cli-process.ts';

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const entries = Object.entries<string | Record<string, string>>(manifest.exports);
const modules = entries.filter(([, target]) => typeof target === 'object').map(([path]) => path);

/** A program of somebody who has installed the package. */
const consumer = mkdtempSync(join(tmpdir(), 'holdfast-consumer-'));
mkdirSync(join(consumer, 'node_modules'));
symlinkSync(ROOT, join(consumer, 'node_modules', 'holdfast'), 'dir');
afterAll(() => rmSync(consumer, { recursive: true }));

function runFile(name: string, source: string): string {
  const path = join(consumer, name);
  writeFileSync(path, source);
  return node('--disable-warning=ExperimentalWarning', path);
}

function node(...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
}

/** What is run, and not loaded. */
const PROGRAMS = [
  join('cli', 'main.js'),
  join('cli', 'serve', 'server-thread.js'),
  join('local', 'server-process.js'),
];

const PROGRAM = `
  const engine = createEngine();
  const session = engine.session();
  const replies = ['programmer', 'x'].map((value) => execute(session, ['SETNX', 'job', value]));
  process.stdout.write(replies.join(' '));
`;

describe('the package', () => {
  it('exports only files that were built', () => {
    const targets = entries.flatMap(([, target]) =>
      typeof target === 'string' ? [target] : Object.values(target),
    );
    expect(targets.length).toBeGreaterThan(modules.length);
    for (const target of targets) expect(existsSync(join(ROOT, target)), target).toBe(true);
  });

  it('can be imported', () => {
    const source = `import { createEngine, execute } from 'holdfast'; ${PROGRAM}`;
    expect(runFile('program.mjs', source)).toBe('1 0');
  });

  it('can be required from CommonJS', () => {
    const source = `const { createEngine, execute } = require('holdfast'); ${PROGRAM}`;
    expect(runFile('program.cjs', source)).toBe('1 0');
  });

  it('knows itself by its name', () => {
    const source =
      "import('holdfast/engine').then(({ COMMANDS }) => process.stdout.write(String(COMMANDS.has('setnx'))))";
    expect(node('--input-type=module', '--eval', source)).toBe('true');
  });

  it.each(modules)('has an entry %s that says what it exports', (path) => {
    const specifier = path.replace('.', 'holdfast');
    const source = `process.stdout.write(String(Object.keys(require('${specifier}')).length > 0))`;
    expect(runFile('entry.cjs', source)).toBe('true');
  });

  it('waits for nothing while it is loaded, since require cannot', () => {
    const files = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.js') && !PROGRAMS.includes(file))
      .map((file) => join(ROOT, 'dist', file));
    expect(files.length).toBeGreaterThan(20);
    const source = `for (const file of ${JSON.stringify(files)}) require(file); process.stdout.write('loaded')`;
    expect(runFile('all.cjs', source)).toBe('loaded');
  });

  it('has types that need no package that is optional', () => {
    const optional = Object.keys(manifest.peerDependencies);
    const types = readdirSync(join(ROOT, 'dist'), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.d.ts'))
      .filter((file) => {
        const text = readFileSync(join(ROOT, 'dist', file), 'utf8');
        return optional.some((name) => text.includes(`'${name}'`));
      });
    expect(types).toEqual([]);
  });

  it('brings the programs of the recipes, which the lab report shows', () => {
    const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
    const [packed] = JSON.parse(execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8' }));
    const paths = packed.files.map(({ path }: { path: string }) => path);
    const programs = execFileSync('git', ['ls-files', 'examples'], { cwd: ROOT, encoding: 'utf8' });
    expect(paths).toEqual(expect.arrayContaining(programs.trim().split('\n')));
    expect(paths.filter((path: string) => path.includes('__pycache__'))).toEqual([]);
  });

  it('brings the command holdfast', () => {
    const args = ['--no-install', 'holdfast', '--version'];
    // A cache of its own: npx links the package there, and does not mend a link that was interrupted. It
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
