// Bundles modules of src/ into files of dist/.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { minifySync } from 'rolldown/utils';

const root = join(import.meta.dirname, '..', '..');
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

/** Class names stay: loggers print them. All else is as short as can be. */
const MINIFY = {
  compress: { keepNames: { class: true, function: false } },
  mangle: { keepNames: { class: true, function: false } },
  codegen: { removeWhitespace: true },
};
/** Modules that throw errors into the program of a user. */
const LIBRARY =
  /\/src\/(?:lock|stores\/(?!redis\/engine-runner)|client|cache|clock|testing|create-locks\.ts)/;

/**
 * Minifies the files of the engine, the lab and the command line. The library stays readable: Node prints the line of an
 * uncaught error, which would be the whole file, and stack traces name functions.
 */
function minify({ fileName, code, moduleIds }) {
  if (moduleIds.some((id) => LIBRARY.test(id))) return;
  writeFileSync(join(root, 'dist', fileName), minifySync(fileName, code, MINIFY).code);
}

/**
 * A module that starts a program or reads a file finds it by its own URL. In a bundle it is another file, so it
 * gets the URL of the file that it would be, which is right in every file that is two folders deep, as dist/cjs/x.js.
 */
const moduleUrls = {
  name: 'module-urls',
  transform(code, id) {
    if (!code.includes('import.meta.url')) return undefined;
    const path = relative(join(root, 'src'), id).replace(/\.ts$/, '.js');
    return code.replaceAll('import.meta.url', `new URL('../${path}', import.meta.url).href`);
  },
};

/** Writes files by their names in dist/, from modules by their names in src/; returns the files. */
export async function bundle(input, output) {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(
      Object.entries(input).map(([name, module]) => [name, join(root, 'src', `${module}.ts`)]),
    ),
    platform: 'node',
    external: [/^node:/, ...Object.keys({ ...dependencies, ...peerDependencies })],
    transform: { target: 'es2023' },
    plugins: [moduleUrls],
  });
  const { output: files } = await build.write({
    dir: join(root, 'dist'),
    ...output,
  });
  await build.close();
  for (const { fileName, code } of files) checkUrls(fileName, code);
  files.forEach(minify);
  return files;
}

function checkUrls(fileName, code) {
  if (!/import\.meta\.url|__filename/.test(code) || fileName.split('/').length === 2) return;
  throw new Error(`${fileName} finds files by its URL, and so must be two folders deep in dist/`);
}
