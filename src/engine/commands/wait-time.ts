import { ErrorReply } from '../../resp/index.ts';
import { parseInteger } from '../number.ts';

/** Parses the milliseconds of WAIT and CLIENT PAUSE. */
export function waitMsArgument(text: string): number {
  const durationMs = parseInteger(text);
  if (durationMs === undefined) {
    throw new ErrorReply('ERR timeout is not an integer or out of range');
  }
  if (durationMs < 0) throw new ErrorReply('ERR timeout is negative');
  return Number(durationMs);
}
