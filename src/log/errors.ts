/** Why a log cannot be used. */
export type LogErrorCode =
  /** Bytes are missing or wrong that the disk had confirmed. */
  | 'damaged'
  /** Another server uses the folder. */
  | 'in-use'
  /** The folder or a file cannot be opened or written. */
  | 'disk'
  /** The log was written in a format that cannot be loaded. */
  | 'format'
  /** The data needs more memory than `maxmemory` allows. */
  | 'too-large';

/** The log cannot be used. The message says what to do. */
export class LogError extends Error {
  override readonly name = 'LogError';
  readonly code: LogErrorCode;

  constructor(code: LogErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
