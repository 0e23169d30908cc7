export type ServerErrorCode =
  | 'unprotected'
  | 'open-folder'
  | 'in-use'
  | 'cannot-listen'
  | 'heap-too-small';

/** Why the server did not start; the message says what to do. */
export class ServerError extends Error {
  override readonly name = 'ServerError';
  readonly code: ServerErrorCode;

  constructor(code: ServerErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
