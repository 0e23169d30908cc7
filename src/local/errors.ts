/**
 * `folder`: the folder cannot be used (full, read-only, forbidden). `foreign`: other users can enter it. `path`: its
 * path is too long for a socket. `start`: the server did not start, or does not answer. `system`: this operating system
 * has no local servers.
 */
export type LocalErrorCode = 'folder' | 'foreign' | 'path' | 'start' | 'system';

/** The local server cannot be used. The message gives the reason and advice. */
export class LocalError extends Error {
  override readonly name = 'LocalError';
  readonly code: LocalErrorCode;

  constructor(code: LocalErrorCode, message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}
