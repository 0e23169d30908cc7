import { crc32 } from './crc32.ts';

/**
 * The lines that Holdfast adds to an append-only file. Redis skips lines that begin with `#`, so that the file is a
 * valid one for Redis too. A file begins with a file line. Each write to it is a frame: a frame line, and the commands
 * of the units of work that it holds. All numbers are hexadecimal, of fixed width.
 *
 *     #HF:s,<version>,<file id>,<next>,<boot id>,<CRC>
 *     #HF:d,<number>,<bytes that follow>,<synced>,<wall time>,<offset>,<CRC>
 *
 * Kinds of frames: `d` has data; `e` is the end of a base file; `c` is the end of a server that was stopped in order.
 * Frames are numbered without a gap across files; those of a base file from 1 on, and `next` is the number of the first
 * frame after it. `synced` is the number of the last frame that was on the disk when this one was written: what is
 * missing up to there was lost by the disk, and not by a crash. That of the end of a base file is the last frame that
 * was written meanwhile: without it the base file is not complete. `wall time` is in milliseconds, `offset` is the wall
 * time minus the time since the machine has started, in microseconds; a negative one begins with `-`. The CRC covers
 * the line and the commands, and begins with the file id, so that bytes of another file cannot pass.
 */
export interface Frame {
  readonly kind: FrameKind;
  readonly number: number;
  readonly bytes: number;
  readonly synced: number;
  readonly wallMs: number;
  readonly offsetMs: number;
}

export type FrameKind = 'd' | 'e' | 'c';

export interface FileLine {
  /** A random number. */
  readonly id: number;
  /** Of a base file: the number of the first frame that is not part of it. Of an increment: 0. */
  readonly next: number;
  /** The run of the operating system that wrote it, 32 digits; zeros: unknown. */
  readonly bootId: string;
}

export const FRAME_LINE_BYTES = 81;
export const FILE_LINE_BYTES = 73;
export const LINE_BEGIN = '#HF:';

export function printFrame(frame: Frame, fileId: number, commands: Buffer): string {
  const { kind, number, bytes, synced, wallMs, offsetMs } = frame;
  const line = [
    `${LINE_BEGIN}${kind}`,
    digits(number, 12),
    digits(bytes, 10),
    digits(synced, 12),
    digits(wallMs, 12),
    signedDigits(Math.floor(offsetMs * 1000), 14),
  ].join(',');
  return `${line},${digits(crc32(commands, crc32(line, fileId)), 8)}\r\n`;
}

/** Reads a frame line, without checking its CRC. Returns undefined if it is none. */
export function parseFrame(line: string): Frame | undefined {
  const found = FRAME.exec(line);
  if (found === null) return undefined;
  const [, kind, number, bytes, synced, wallMs, offset] = found;
  return {
    kind: kind as FrameKind,
    number: Number.parseInt(number!, 16),
    bytes: Number.parseInt(bytes!, 16),
    synced: Number.parseInt(synced!, 16),
    wallMs: Number.parseInt(wallMs!, 16),
    offsetMs: Number.parseInt(offset!, 16) / 1000,
  };
}

/**
 * Whether the CRC at the end of a frame line is that of the line and its commands. `crcOfCommands` continues the CRC of
 * the line.
 */
export function isIntact(
  line: string,
  fileId: number,
  crcOfCommands: (earlier: number) => number,
): boolean {
  const crc = crcOfCommands(crc32(line.slice(0, -CRC_END), fileId));
  return line.slice(-CRC_END + 1, -2) === digits(crc, 8);
}

export function printFileLine({ id, next, bootId }: FileLine): string {
  const line = `${LINE_BEGIN}s,1,${digits(id, 8)},${digits(next, 12)},${bootId}`;
  return `${line},${digits(crc32(line), 8)}\r\n`;
}

/** Reads a file line. Returns undefined if it is none, or if its CRC is wrong. */
export function parseFileLine(line: string): FileLine | undefined {
  const found = FILE.exec(line);
  if (found === null) return undefined;
  const [, body, id, next, bootId, crc] = found;
  if (digits(crc32(body!), 8) !== crc) return undefined;
  return { id: Number.parseInt(id!, 16), next: Number.parseInt(next!, 16), bootId: bootId! };
}

function digits(number: number, width: number): string {
  return number.toString(16).padStart(width, '0');
}

function signedDigits(number: number, width: number): string {
  return number < 0 ? `-${digits(-number, width - 1)}` : digits(number, width);
}

/** The length of the comma, the CRC and the line break. */
const CRC_END = 11;
const FRAME =
  /^#HF:([dec]),([\da-f]{12}),([\da-f]{10}),([\da-f]{12}),([\da-f]{12}),([-\da-f][\da-f]{13}),[\da-f]{8}\r\n$/;
const FILE = /^(#HF:s,1,([\da-f]{8}),([\da-f]{12}),([\da-f]{32})),([\da-f]{8})\r\n$/;
