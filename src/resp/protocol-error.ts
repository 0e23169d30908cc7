/** An invalid frame, after which the stream cannot be read. The message is the text that Redis sends after `-ERR `. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';
  constructor(reason: string) {
    super(`Protocol error: ${reason}`);
  }
}
