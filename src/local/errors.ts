/**
 * `folder`: it cannot be used (full, read-only, forbidden). `foreign`: others could reach into it. `path`:
 * it is too long for a socket. `start`: the server did not start, or does not answer. `system`: there are
 * no local servers on this one.
 */
export type LocalErrorCode = 'folder' | 'foreign' | 'path' | 'start' | 'system';

/** Why there is no local server; the message says what to do. */
export class LocalError extends Error {
  override readonly name = 'LocalError';
  readonly code: LocalErrorCode;

  constructor(code: LocalErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
