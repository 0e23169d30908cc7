import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.ts';
import type { Engine } from '../engine/index.ts';
import { type Boot, systemBoot } from './boot.ts';
import type { Disk } from './disk.ts';
import { AppendLog } from './log.ts';
import { readManifest } from './manifest-file.ts';
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
