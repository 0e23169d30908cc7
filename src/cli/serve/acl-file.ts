import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { AclFile } from '../../engine/index.ts';
import { replaceFile } from './replace-file.ts';

/** The file of `--aclfile`, which ACL LOAD reads and ACL SAVE replaces. It has the hashes of passwords. */
export function aclFile(path: string): AclFile {
  // SAVE must reach the same file as LOAD if the process changes its folder.
  const absolute = resolve(path);
  return {
    load: () => readFileSync(absolute, 'latin1'),
    save: (text) => replaceFile(absolute, text),
  };
}
