import { cpSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { systemBoot } from './boot.ts';
import { LogError } from './errors.ts';
import { fileDisk } from './file-disk.ts';
import { lockFolder } from './folder-lock.ts';
import { MANIFEST } from './log-files.ts';
import { LOG_FOLDER } from './log-folder.ts';
import { fileNames, printManifest } from './manifest.ts';
import { readManifest } from './manifest-file.ts';
import { NO_VISITOR, type Recovery, readLog, readUntilDamage } from './recovery.ts';

/** What a check of a log has found. */
export interface LogCheck {
  /** The folder of the files. */
  readonly path: string;
  readonly files: readonly string[];
  readonly bytes: number;
  readonly recovery: Recovery;
}

/**
 * Reads the log of a data folder and checks every byte. Changes nothing.
 *
 * @throws LogError if there is no log, or if it is damaged. The message names the place.
 */
export function checkLog(path: string): LogCheck {
  try {
    const disk = diskOf(path);
    const manifest = readManifest(disk);
    const recovery = readLog(disk, manifest, systemBoot(), NO_VISITOR);
    const files = fileNames(manifest);
    const bytes = files.reduce((sum, name) => sum + disk.size(name), 0);
    return { path: disk.path, files, bytes, recovery };
  } catch (error) {
    throw asCheckError(error as Error, path);
  }
}

/** What a repair has done. */
export interface LogRepair {
  /** Where the files are as they were before. */
  readonly copy: string;
  /** The last frame that was saved. */
  readonly lastFrame: number;
  readonly droppedBytes: number;
}

/**
 * Cuts a damaged log before the damage, after all files were copied. The base file cannot be repaired.
 *
 * @throws LogError if a server uses the folder, or if nothing can be saved.
 */
export async function repairLog(path: string, suffix: string): Promise<LogRepair> {
  try {
    const disk = diskOf(path);
    const lock = await lockFolder(path);
    try {
      return await repair(disk, `${disk.path}.before-repair-${suffix}`);
    } finally {
      await lock.release();
    }
  } catch (error) {
    throw asCheckError(error as Error, path);
  }
}

async function repair(disk: FileDisk, copy: string): Promise<LogRepair> {
  const manifest = readManifest(disk);
  const recovery = readUntilDamage(disk, manifest, systemBoot());
  cpSync(disk.path, copy, { recursive: true, errorOnExist: true, force: false });
  const { tornAt, lastFrame, tornBytes } = recovery;
  if (tornAt !== undefined) {
    disk.cut(tornAt.file, tornAt.offset);
    await replaceManifest(disk, printManifest(recovery.manifest));
    // The copy has them. With a name of the log, they would look like files that the manifest lacks.
    const kept = fileNames(recovery.manifest);
    const dropped = fileNames(manifest).filter((name) => !kept.includes(name));
    for (const name of dropped) disk.rename(name, `${name}.dropped`);
    await disk.syncNames();
  }
  return { copy, lastFrame, droppedBytes: tornBytes };
}

async function replaceManifest(disk: FileDisk, text: string): Promise<void> {
  const name = `${MANIFEST}.repaired`;
  disk.remove(name);
  const file = disk.create(name);
  file.write([Buffer.from(text, 'latin1')]);
  await file.sync();
  file.close();
  disk.rename(name, MANIFEST);
  await disk.syncNames();
}

type FileDisk = ReturnType<typeof fileDisk>;

function diskOf(path: string): FileDisk {
  const folder = join(path, LOG_FOLDER);
  // Unlike existsSync, it reports a folder that this user may not read.
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) {
    throw new LogError('disk', `${path} has no folder ${LOG_FOLDER}: it holds no log.`);
  }
  return fileDisk(folder);
}

/** The error of the system names the file. */
function asCheckError(error: Error, path: string): LogError {
  if (error instanceof LogError) return error;
  return new LogError('disk', `cannot check ${path} (${error.message}).`, error);
}
