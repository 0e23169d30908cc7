import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../make-folder.ts';
import { LogError } from './errors.ts';
import { fileDisk } from './file-disk.ts';
import { lockFolder } from './folder-lock.ts';
import { type OpenedLog, type OpenLogOptions, openLog } from './open-log.ts';

/** The folder of the log inside of the data folder, as in Redis. */
export const LOG_FOLDER = 'appendonlydir';

export interface OpenedFolder extends OpenedLog {
  /** Ends the log in order, and leaves the folder to others. */
  close(): Promise<void>;
}

/**
 * Loads the log of a data folder into an empty engine and continues it. Creates the folder if needed, and keeps other
 * servers out of it.
 *
 * @throws LogError if another server uses the folder, or if the log is damaged or cannot be written.
 */
export async function openLogFolder(
  path: string,
  options: Omit<OpenLogOptions, 'disk'>,
): Promise<OpenedFolder> {
  const folder = join(path, LOG_FOLDER);
  prepare(path, folder);
  const lock = await lockFolder(path);
  try {
    const opened = await openLog({ ...options, disk: fileDisk(folder) });
    const close = async (): Promise<void> => {
      await opened.log.close();
      await lock.release();
    };
    return { ...opened, close };
  } catch (error) {
    await lock.release();
    throw error instanceof LogError ? error : asLogError(error as Error, path);
  }
}

function prepare(path: string, folder: string): void {
  try {
    makeFolder(folder);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw asLogError(error as Error, path);
  }
  const old = join(path, 'appendonly.aof');
  if (existsSync(old)) {
    throw new LogError(
      'format',
      `${old} is a log of Redis before version 7, which Holdfast cannot load. Start a Redis 7 server on a copy of the folder, ` +
        'which converts it, or move the file away.',
    );
  }
}

function asLogError(error: Error, path: string): LogError {
  return new LogError(
    'disk',
    `cannot use the data folder ${path} (${error.message}). Choose another with --dir, or keep the data in memory only with --appendonly no.`,
    error,
  );
}
