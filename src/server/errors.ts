export type ServerErrorCode =
  | 'unprotected'
  | 'open-folder'
  | 'in-use'
  | 'cannot-listen'
  | 'bad-certificate'
  | 'heap-too-small';

/** The server could not start. The message says why, and what to do. */
export class ServerError extends Error {
  override readonly name = 'ServerError';
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
