export type { CommitLog } from './connection.ts';
export { ServerError, type ServerErrorCode } from './errors.ts';
export { LOG_LEVELS, type LogEntry, type LogLevel } from './log-entry.ts';
export { type Server, type ServerOptions, startServer } from './server.ts';
export type { TlsFiles, TlsOptions } from './tls-options.ts';
