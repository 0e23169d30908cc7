import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.ts';
import type { Engine } from '../engine/index.ts';
import { type Boot, systemBoot } from './boot.ts';
import type { Disk } from './disk.ts';
import { LogError } from './errors.ts';
import { AppendLog } from './log.ts';
import { MANIFEST } from './log-files.ts';
import { EMPTY_MANIFEST, type Manifest, parseManifest } from './manifest.ts';
import { loadLog, type Recovery } from './recovery.ts';

export interface OpenLogOptions {
  readonly engine: Engine;
  readonly disk: Disk;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly boot?: Boot;
  /** Receives lines for the operator. */
  readonly report?: (message: string) => void;
  /** The log cannot go on, and no reply may leave any more: the process must end. */
  readonly onFatal?: (message: string) => void;
}

export interface OpenedLog {
  readonly log: AppendLog;
  readonly recovery: Recovery;
}

/**
 * Loads the log of a folder into an engine, which must be empty, and continues it. An empty folder begins a log.
 *
 * @throws LogError if the log is damaged or cannot be written. Nothing was changed then.
 */
export async function openLog(options: OpenLogOptions): Promise<OpenedLog> {
  const { engine, disk } = options;
  const clock = options.clock ?? systemClock;
  const boot = options.boot ?? systemBoot();
  const report = options.report ?? (() => {});
  const recovery = loadLog(disk, readManifest(disk), boot, engine, clock);
  if (recovery.tornAt !== undefined) {
    const { file, offset } = recovery.tornAt;
    report(
      `the end of the log was incomplete: dropped ${recovery.tornBytes} bytes from byte ${offset} of ${file} on, which no disk had confirmed`,
    );
  }
  if (recovery.skippedBytes > 0) {
    report(
      `the log of Redis ends with an incomplete command or transaction: skipped about ${recovery.skippedBytes} bytes`,
    );
  }
  const log = await AppendLog.open({
    engine,
    disk,
    clock,
    random: options.random ?? systemRandom,
    boot,
    recovery,
    report,
    onFatal: options.onFatal ?? report,
  });
  engine.persistence = log;
  return { log, recovery };
}

/** The manifest of a folder. Throws LogError if it is damaged, or missing beside files of a log. */
export function readManifest(disk: Disk): Manifest {
  const names = disk.names();
  if (names.includes(MANIFEST)) {
    const text = disk.read(MANIFEST, 0, disk.size(MANIFEST)).latin1Slice();
    return parseManifest(text, `${disk.path}/${MANIFEST}`);
  }
  const file = names.find((name) => name.endsWith('.aof') && disk.size(name) > FIRST_FILE_BYTES);
  // A first start that was interrupted leaves an increment without frames.
  if (file === undefined) return EMPTY_MANIFEST;
  throw new LogError(
    'damaged',
    `${disk.path} has ${file}, but no ${MANIFEST}. Restore the folder from a backup, or choose an empty folder.`,
  );
}

const FIRST_FILE_BYTES = 73;
