import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A seed from the names and contents of files: the same commit has the same seed on every day and machine, and
 * a change of a file gives another one. Folders count with all files inside of them, test files left out.
 */
export function contentSeed(root: string, paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths.flatMap((each) => filesIn(root, each))) {
    const content = readFileSync(join(root, path));
    hash.update(`${path} ${content.length}\n`).update(content);
  }
  return String(hash.digest().readUInt32BE());
}

function filesIn(root: string, path: string): string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((name) => !name.endsWith('.test.ts') && statSync(join(root, name)).isFile())
    .sort();
}
