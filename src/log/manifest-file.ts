import type { Disk } from './disk.ts';
import { LogError } from './errors.ts';
import { FILE_LINE_BYTES } from './frame.ts';
import { MANIFEST, sequenceOf } from './log-files.ts';
import {
  EMPTY_MANIFEST,
  fileNames,
  isOwnManifest,
  type LogFileName,
  type Manifest,
  parseManifest,
} from './manifest.ts';

/** The manifest of a folder. Throws LogError if it is damaged, missing beside files of a log, or does not fit them. */
export function readManifest(disk: Disk): Manifest {
  const names = disk.names();
  if (!names.includes(MANIFEST)) return manifestOfNewFolder(disk, names);
  const text = disk.read(MANIFEST, 0, disk.size(MANIFEST)).latin1Slice();
  const manifest = parseManifest(text, `${disk.path}/${MANIFEST}`);
  checkNewerFiles(disk, names, manifest);
  const empty = fileNames(manifest).filter((name) => names.includes(name) && disk.size(name) === 0);
  if (empty.length > 0 && isOwnManifest(text)) throw isEmpty(disk, empty[0]!);
  return without(manifest, empty);
}

/** A first start that was interrupted leaves an increment without frames. */
function manifestOfNewFolder(disk: Disk, names: readonly string[]): Manifest {
  const file = names.find((name) => name.endsWith('.aof') && hasFrames(disk, name));
  if (file === undefined) return EMPTY_MANIFEST;
  throw new LogError(
    'damaged',
    `${disk.path} has ${file}, but no ${MANIFEST}. Restore the folder from a backup, or choose an empty folder.`,
  );
}

/**
 * The manifest names an increment before frames are written to it, so that a newer one with frames shows that lines are
 * missing.
 */
function checkNewerFiles(disk: Disk, names: readonly string[], { increments }: Manifest): void {
  const last = increments.at(-1)?.sequence ?? 0;
  const newer = names.find(
    (name) => (sequenceOf(name, 'incr') ?? 0) > last && hasFrames(disk, name),
  );
  if (newer === undefined) return;
  throw new LogError(
    'damaged',
    `${disk.path}/${newer} has changes, but ${MANIFEST} does not name it: the manifest is damaged, or from an older copy. ` +
      'Restore the folder from a backup, or move the file away to start without its changes.',
  );
}

function hasFrames(disk: Disk, name: string): boolean {
  return disk.size(name) > FILE_LINE_BYTES;
}

/** Redis has empty files. Those of Holdfast begin with a line that is on the disk before the manifest names them. */
function isEmpty({ path }: Disk, name: string): LogError {
  return new LogError(
    'damaged',
    `${path}/${name} is empty: its content is lost. Restore the folder from a backup.`,
  );
}

function without({ base, increments }: Manifest, names: readonly string[]): Manifest {
  const isKept = ({ name }: LogFileName): boolean => !names.includes(name);
  return {
    base: base !== undefined && isKept(base) ? base : undefined,
    increments: increments.filter(isKept),
  };
}
