export { type Boot, bootOf, systemBoot } from './boot.ts';
export type { Disk, DiskFile } from './disk.ts';
export { LogError, type LogErrorCode } from './errors.ts';
export { AppendLog, type LogStatus, type SyncMode } from './log.ts';
export { type OpenLogOptions, openLog } from './open-log.ts';
