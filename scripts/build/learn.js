// Builds web/learn: the lab and the tutorial, as files that any host can serve. It needs build/.
import { join } from 'node:path';
import { build } from 'vite';

const root = join(import.meta.dirname, '..', '..');

/** `mode` is `site` if the pages of docs/ are beside it, in `../docs/`. */
export async function buildLearn(outDir, mode = 'production') {
  const configFile = join(root, 'web', 'learn', 'vite.config.ts');
  await build({ configFile, mode, build: { outDir } });
}
