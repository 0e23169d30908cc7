// Turns the TypeScript of a copy into the JavaScript that the lab runs: file by file and without a look at
// types, so that a mutant costs milliseconds.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transformWithOxc } from 'vite';

/** Builds all that is in `src` of the folder into its `dist`. */
export async function build(work) {
  const files = readdirSync(join(work, 'src'), { recursive: true });
  const sources = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  for (const file of sources) {
    const path = join(work, 'src', file);
    const target = builtPath(path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, await translated(readFileSync(path, 'utf8'), path));
  }
}

/** The files that the edits change, in `src` and in `dist`, each with and without the bug. */
export async function mutated(work, edits) {
  const files = [...new Set(edits.map(({ file }) => file))];
  const versions = files.map(async (file) => {
    const path = join(work, file);
    const sound = readFileSync(path, 'utf8');
    const mutant = edits
      .filter((edit) => edit.file === file)
      .reduce((text, { find, replace }) => text.replace(find, () => replace), sound);
    const built = builtPath(path);
    return [
      { path, sound, mutant },
      {
        path: built,
        sound: readFileSync(built, 'utf8'),
        mutant: await translated(mutant, path),
      },
    ];
  });
  return (await Promise.all(versions)).flat();
}

/** Puts one version of files in place: `sound` or `mutant`. */
export function write(files, version) {
  for (const file of files) writeFileSync(file.path, file[version]);
}

function builtPath(path) {
  return path.replace(/\/src\/(?!.*\/src\/)/, '/dist/').replace(/\.ts$/, '.js');
}

async function translated(source, path) {
  const { code } = await transformWithOxc(source, path);
  return code.replace(/((?:from|import)\s*\(?\s*"\.[^"]+)\.ts"/g, '$1.js"');
}
