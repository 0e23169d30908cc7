export { type Boot, bootOf, systemBoot } from './boot.ts';
export { checkLog, type LogCheck, type LogRepair, repairLog } from './check-log.ts';
export type { Disk, DiskFile } from './disk.ts';
export { LogError, type LogErrorCode } from './errors.ts';
export type { AppendLog } from './log.ts';
export { LOG_FOLDER, type OpenedFolder, openLogFolder } from './log-folder.ts';
export { type OpenLogOptions, openLog } from './open-log.ts';
