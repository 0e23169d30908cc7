// Builds the package: see docs/adr/0017-package.md.
//   build/   every file of src/ as JavaScript with declarations, for the tools of this repository
//   dist/    what is published: bundles as ES modules and as CommonJS, the command line, declarations, web pages
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bundle } from './build/bundle.js';
import { buildLearn } from './build/learn.js';
import { copyTypes } from './build/types.js';
import { buildPage } from './build/web.js';

const root = join(import.meta.dirname, '..');
const require = createRequire(import.meta.url);

/** Entries whose implementation is CommonJS only; as ES modules they re-export it. */
const IN_ONE_FORMAT = ['engine', 'lab', 'resp', 'server'];
/** Programs that a thread or a process is started with, by their paths in src/ and in dist/. */
const ESM_PROGRAMS = ['stores/renewal-worker'];
const CJS_PROGRAMS = ['cli/main', 'cli/serve/server-thread'];
/** A process of the local server is started from both formats, at one path. */
const LOCAL_SERVER = 'local/server-process';

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Each entry of the package: `{ name: 'engine', module: 'public/engine' }`. */
const entries = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([path, target]) => ({
    name: path === '.' ? 'index' : path.slice(2),
    module: /^\.\/dist\/(.+)\.js$/.exec(target.import.default)[1],
  }));

for (const folder of ['build', 'dist'])
  rmSync(join(root, folder), { recursive: true, force: true });
compile();
const commonJs = await bundleCommonJs();
await bundleModules();
for (const { name, module } of entries.filter(isInOneFormat)) {
  const { exports } = commonJs.find(({ fileName }) => fileName === `cjs/${name}.js`);
  write(`${module}.js`, `export { ${exports.join(', ')} } from '../cjs/${name}.js';\n`);
}
write(`${LOCAL_SERVER}.js`, "import '../cjs/server-process.js';\n");
for (const folder of ['cjs', 'cli', 'types']) {
  write(`${folder}/package.json`, '{ "type": "commonjs" }\n');
}
copyTypes(
  join(root, 'build'),
  join(root, 'dist/types'),
  entries.map(({ module }) => module),
);
// One copy of the declarations, in the format that both others can import.
for (const { module } of entries) {
  const path = `${module.includes('/') ? '..' : '.'}/types/${module}.js`;
  write(`${module}.d.ts`, `export * from '${path}';\n`);
}
chmodSync(join(root, 'dist', 'cli', 'main.js'), 0o755);
await writeCompletions();
await buildPage('page');
await buildLearn(join(root, 'dist', 'learn'));

function compile() {
  const compiler = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');
  const args = [compiler, '-p', join(root, 'tsconfig.build.json')];
  execFileSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
}

function bundleModules() {
  const input = Object.fromEntries([
    ...entries.filter((entry) => !isInOneFormat(entry)).map(({ module }) => [module, module]),
    ...ESM_PROGRAMS.map((module) => [module, module]),
    // It starts the worker, so it cannot be a part of dist/index.js: see build/bundle.js.
    ['esm/create-locks', 'create-locks'],
  ]);
  return bundle(input, {
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'esm/[name].js',
  });
}

function bundleCommonJs() {
  const input = Object.fromEntries([
    ...entries.map(({ name, module }) => [`cjs/${name}`, module]),
    ...CJS_PROGRAMS.map((module) => [module, module]),
    ['cjs/server-process', LOCAL_SERVER],
  ]);
  return bundle(input, {
    format: 'cjs',
    entryFileNames: '[name].js',
    chunkFileNames: 'cjs/chunk-[name].js',
    exports: 'named',
  });
}

/** `holdfast completion` prints these files: to make one, it has to load all verbs. */
async function writeCompletions() {
  const { completion } = await import('../build/cli/completion.js');
  for (const shell of completion.words) {
    const main = join(root, 'dist', 'cli', 'main.js');
    write(`cli/completion/${shell}`, execFileSync(process.execPath, [main, 'completion', shell]));
  }
}

function isInOneFormat({ name }) {
  return IN_ONE_FORMAT.includes(name);
}

function write(file, text) {
  const path = join(root, 'dist', file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
