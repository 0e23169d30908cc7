// Bundles modules of src/ into files of dist/.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { minified } from './minify.js';

const root = join(import.meta.dirname, '..', '..');
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

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
  for (const { fileName, code, moduleIds } of files) {
    writeFileSync(join(root, 'dist', fileName), minified(fileName, code, moduleIds));
  }
  return files;
}

function checkUrls(fileName, code) {
  if (!/import\.meta\.url|__filename/.test(code) || fileName.split('/').length === 2) return;
  throw new Error(`${fileName} finds files by its URL, and so must be two folders deep in dist/`);
}
