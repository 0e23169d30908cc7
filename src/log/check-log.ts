import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemBoot } from './boot.ts';
import { LogError } from './errors.ts';
import { fileDisk } from './file-disk.ts';
import { lockFolder } from './folder-lock.ts';
import { MANIFEST } from './log-files.ts';
import { LOG_FOLDER } from './log-folder.ts';
import { fileNames, printManifest } from './manifest.ts';
import { readManifest } from './open-log.ts';
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
  const disk = diskOf(path);
  const manifest = readManifest(disk);
  const recovery = readLog(disk, manifest, systemBoot(), NO_VISITOR);
  const files = fileNames(manifest);
  const bytes = files.reduce((sum, name) => sum + disk.size(name), 0);
  return { path: disk.path, files, bytes, recovery };
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
  const disk = diskOf(path);
  const lock = await lockFolder(path);
  try {
    const recovery = readUntilDamage(disk, readManifest(disk), systemBoot());
    const copy = `${disk.path}.before-repair-${suffix}`;
    cpSync(disk.path, copy, { recursive: true, errorOnExist: true, force: false });
    const { tornAt } = recovery;
    if (tornAt !== undefined) {
      disk.cut(tornAt.file, tornAt.offset);
      await replaceManifest(disk, printManifest(recovery.manifest));
    }
    return { copy, lastFrame: recovery.lastFrame, droppedBytes: recovery.tornBytes };
  } finally {
    await lock.release();
  }
}

async function replaceManifest(disk: ReturnType<typeof fileDisk>, text: string): Promise<void> {
  const name = `${MANIFEST}.repaired`;
  disk.remove(name);
  const file = disk.create(name);
  file.write([Buffer.from(text, 'latin1')]);
  await file.sync();
  file.close();
  disk.rename(name, MANIFEST);
  await disk.syncNames();
}

function diskOf(path: string): ReturnType<typeof fileDisk> {
  const folder = join(path, LOG_FOLDER);
  if (!existsSync(folder)) {
    throw new LogError('disk', `${path} has no folder ${LOG_FOLDER}: it holds no log.`);
  }
  return fileDisk(folder);
}
